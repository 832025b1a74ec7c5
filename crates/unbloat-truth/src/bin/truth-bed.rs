//! Runs one truth bed and leaves its captures and truth files in a folder.

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use unbloat_truth::{Capture, LabError, RunParams, SCENARIOS, Scenario};

/// Kernel TCP over an emulated path, with a record of everything that happened to it.
#[derive(Parser)]
#[command(after_help = scenarios())]
struct Arguments {
    /// Which bed; see the list below.
    #[arg(long)]
    scenario: String,
    /// How long the clients are active.
    #[arg(long, default_value_t = 30)]
    secs: u64,
    /// The folder to write to; made if it is not there.
    #[arg(long)]
    out: PathBuf,
    /// Decides rates, losses and what the clients ask for.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Capture whole packets instead of headers.
    #[arg(long)]
    full: bool,
    /// Do without the kernel's own record, which needs clang, libbpf's headers and BTF.
    #[arg(long)]
    no_kernel: bool,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("truth-bed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), LabError> {
    let scenario = Scenario::named(&arguments.scenario, arguments.seed).ok_or_else(|| {
        let names: Vec<_> = SCENARIOS.iter().map(|s| s.name).collect();
        LabError::UnknownScenario {
            name: arguments.scenario.clone(),
            known: names.join(", "),
        }
    })?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let handler = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    if let Err(error) = handler {
        eprintln!("truth-bed: Ctrl-C will not tidy up ({error}); the next run will");
    }
    let report = unbloat_truth::run(
        &RunParams {
            scenario,
            name: arguments.scenario,
            seed: arguments.seed,
            length: Duration::from_secs(arguments.secs),
            folder: arguments.out.clone(),
            capture: if arguments.full {
                Capture::Full
            } else {
                Capture::Headers
            },
            kernel: !arguments.no_kernel,
        },
        &stop,
    )?;
    println!("{report:#?}");
    println!("written to {}", arguments.out.display());
    Ok(())
}

fn scenarios() -> String {
    let lines = SCENARIOS.iter();
    let lines = lines.map(|s| format!("  {:<10} {}\n", s.name, s.purpose));
    format!("Scenarios:\n{}", lines.collect::<String>())
}
