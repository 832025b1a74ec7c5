//! Asks the Linux kernel, in virtual time, what happens in a scenario.

use clap::{Parser, Subcommand};
use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unbloat_uml::{Kernel, Scenario, Summary, matrix, referee};

/// The Linux kernel's own queues and congestion controls, in virtual time.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds the guest's kernel if it is missing, and says where it is.
    Kernel,
    /// Runs one scenario; the outcome goes to standard output.
    Run {
        /// A file in JSON, or - for standard input; crates/base/uml/truth has examples.
        scenario: PathBuf,
    },
    /// Runs the scenarios whose outcomes are committed, and writes them and their table.
    Matrix {
        /// Only those with this in their name; the table is then left as it is.
        #[arg(long, default_value = "")]
        only: String,
        /// The folder to write to.
        #[arg(long, default_value_os_t = Summary::folder())]
        out: PathBuf,
    },
}

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Kernel => kernel(),
        Command::Run { scenario } => run(&scenario),
        Command::Matrix { only, out } => remake(&only, &out),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("referee: {error}");
            ExitCode::FAILURE
        }
    }
}

fn kernel() -> Fallible<()> {
    let kernel = Kernel::ensure()?;
    println!(
        "{} (source {})",
        kernel.image().display(),
        kernel.source_version()
    );
    Ok(())
}

fn run(path: &Path) -> Fallible<()> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text)?;
    } else {
        text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let scenario: Scenario =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{}", serde_json::to_string(&referee(&scenario)?)?);
    Ok(())
}

fn remake(only: &str, out: &Path) -> Fallible<()> {
    fs::create_dir_all(out)?;
    let mut table = String::new();
    for (name, scenario) in matrix() {
        if !name.contains(only) {
            continue;
        }
        let summary = Summary::of(&referee(&scenario)?);
        fs::write(
            out.join(format!("{name}.json")),
            serde_json::to_string(&summary)? + "\n",
        )?;
        let line = row(&name, &summary);
        println!("{line}");
        writeln!(table, "{line}")?;
    }
    if only.is_empty() {
        fs::write(out.join("README.md"), format!("{HEAD}{table}"))?;
    }
    Ok(())
}

const HEAD: &str = "\
# What Linux does

Outcomes of the kernel's own queues and congestion controls (Linux 6.12 of Debian, in virtual time), one
file each. All: 10 Mbit/s of IP packets, 60 s, seed 1 unless the name says another; 40 ms one way,
`reference-*` 50 ms each way.
`delay` is the time in the queue until transmission begins, of each packet that got through. The same
command on the same kernel gives the same bytes:

    cargo run --release -p unbloat-uml -- matrix

| scenario | queue | goodput Mbit/s | delay mean ms | p50 | p95 | max | dropped | marked | timeouts |
|---|---|---|---|---|---|---|---|---|---|
";

fn row(name: &str, summary: &Summary) -> String {
    let (queue, delay) = (&summary.queue, &summary.queue.delay);
    let timeouts: u32 = summary
        .flows
        .iter()
        .map(|flow| u32::from(flow.timeouts))
        .sum();
    format!(
        "| {name} | `{}` | {:.3} | {:.2} | {:.2} | {:.2} | {:.2} | {} | {} | {timeouts} |",
        summary.scenario.queue,
        summary.goodput_bps() / 1e6,
        delay.mean_ms,
        delay.p50_ms,
        delay.p95_ms,
        delay.max_ms,
        queue.dropped,
        queue.marked,
    )
}
