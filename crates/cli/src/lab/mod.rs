//! `unbloat lab`: runs scenarios with the kernel's TCP.

mod handed;
mod inside;
mod kernel;
mod live;
mod run;
mod shell;
mod virtually;

pub use handed::rows;
pub use inside::{Job, inside};
pub use run::Lab;
pub use shell::behind;
pub use virtually::VirtualLab;

use crate::exit::{Exit, Failure};
use clap::Subcommand;
use unbloat_table::{Row, Table};

/// Run scenarios with the kernel's TCP over an emulated path.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Shell(Box<shell::Args>),
    Kernel(kernel::Args),
}

/// The tables that only a lab has.
pub fn tables() -> Vec<Table> {
    let mut tables = run::tables().to_vec();
    tables.push(shell::PathRow::table());
    tables
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    Ok(match &args.command {
        Command::Run(args) => run::run(args)?,
        Command::Shell(args) => shell::run(args)?,
        Command::Kernel(args) => kernel::run(args)?,
    })
}
