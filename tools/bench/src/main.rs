//! Measures unbloat beside the tools that people know.
//!
//! `analyze` compares speed and memory, `agreement` compares counts; the others are what these two
//! start to do the work. `bench/README.md` says how to run them.

mod agreement;
mod captures;
mod error;
mod peak;
mod process;
mod speed;
mod walk;

use clap::{Parser, Subcommand};
use error::{BenchError, at};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[derive(Parser)]
#[command(about = "Benchmark unbloat against established tools")]
struct Cli {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make the captures, run everybody on them in turns, and write bench/runs/DATE-MACHINE
    Analyze {
        /// How often each contestant has its turn; slow ones have fewer
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
        rounds: u32,
        /// Only these captures
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
        /// Flows of the SYN flood
        #[arg(long, default_value_t = 10_000_000)]
        flood: u32,
        /// Folder of the generated captures: 3 GB [default: bench/data]
        #[arg(long, env = "UNBLOAT_BENCH_DATA")]
        data: Option<PathBuf>,
        /// The program to measure [default: beside this one]
        #[arg(long)]
        unbloat: Option<PathBuf>,
    },
    /// Compare unbloat's counts with tcptrace's and tshark's, and write docs/agreement.md
    Agreement {
        /// Folder of beds of unbloat-validate; made if there are none, which needs root [default: bench/data/beds]
        #[arg(long)]
        beds: Option<PathBuf>,
        /// Folder for what is made on the way [default: bench/data]
        #[arg(long, env = "UNBLOAT_BENCH_DATA")]
        data: Option<PathBuf>,
    },
    /// Make one of the captures
    Make {
        name: String,
        #[arg(long)]
        data: PathBuf,
    },
    /// Cut a base out of a capture of a bed
    Cut {
        input: PathBuf,
        output: PathBuf,
        /// Flows with more packets are left out, whole
        #[arg(long)]
        most: u32,
    },
    /// Count packets of a pcap file by walking over its mapping
    Walk { capture: PathBuf },
    /// Write a SYN flood to standard output, a flow a packet
    Flood { flows: u32 },
}

fn main() -> ExitCode {
    match run(Cli::parse().action) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("unbloat-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(action: Action) -> Result<(), BenchError> {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
    match action {
        Action::Analyze {
            rounds,
            only,
            flood,
            data,
            unbloat,
        } => {
            let params = speed::SpeedParams {
                data: data.unwrap_or_else(|| bench.join("data")),
                runs: bench.join("runs"),
                unbloat: unbloat.map_or_else(|| beside_us("unbloat"), Ok)?,
                rounds,
                flood,
                only,
            };
            make_all(&params.data)?;
            speed::measure(&params)
        }
        Action::Agreement { beds, data } => {
            let data = data.unwrap_or_else(|| bench.join("data"));
            std::fs::create_dir_all(&data).map_err(at(&data))?;
            agreement::compare_all(&agreement::AgreementParams {
                base: bench.join("base/base.pcap.zst"),
                beds: beds.unwrap_or_else(|| data.join("beds")),
                validate: beside_us("unbloat-validate")?,
                document: bench.join("../docs/agreement.md"),
                explanations: bench.join("agreement/explanations.md"),
                data,
            })
        }
        Action::Make { name, data } => {
            captures::make(&name, &bench.join("base/base.pcap.zst"), &data)
        }
        Action::Cut {
            input,
            output,
            most,
        } => {
            let packets = captures::cut(&input, &output, most)?;
            println!("{packets} packets");
            Ok(())
        }
        Action::Walk { capture } => {
            let (packets, wire_bytes) = walk::walk(&capture)?;
            println!("{packets} packets, {wire_bytes} bytes on the wire");
            Ok(())
        }
        Action::Flood { flows } => {
            let out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
            captures::flood(flows, out).map_err(at(Path::new("standard output")))
        }
    }
}

fn beside_us(program: &str) -> Result<PathBuf, BenchError> {
    let us = std::env::current_exe().map_err(at(Path::new("this program")))?;
    Ok(us.with_file_name(program))
}

/// Makes the captures in processes of their own: what this one holds would be counted as the
/// memory of what it measures.
fn make_all(data: &Path) -> Result<(), BenchError> {
    std::fs::create_dir_all(data).map_err(at(data))?;
    let us = std::env::current_exe().map_err(at(Path::new("this program")))?;
    for name in captures::RECIPES.iter().map(|r| r.name).chain(["empty"]) {
        let mut command = Command::new(&us);
        command.args(["make", name, "--data"]).arg(data);
        let begun = std::time::Instant::now();
        let child = process::spawn(&mut command)?;
        process::wait(&child, begun, name)?;
    }
    Ok(())
}
