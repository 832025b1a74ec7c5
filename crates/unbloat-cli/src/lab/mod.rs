//! `unbloat lab`: scenarios with the kernel's own TCP.

mod run;

pub use run::tables;

use crate::exit::Exit;
use crate::experiment::ExperimentError;
use clap::Subcommand;

/// Runs the scenarios of `sim` with the kernel's own TCP and real applications, over an emulated path.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Args>),
}

pub fn run(args: &Args) -> Result<Exit, ExperimentError> {
    match &args.command {
        Command::Run(args) => run::run(args),
    }
}
