//! `unbloat sim`: scenarios in virtual time.

mod args;
mod averages;
mod campaign;
mod input;
mod rows;
mod store;
mod text;

pub use args::Args;
pub use rows::tables;

use crate::exit::Exit;
use crate::stop::stop_on_ctrl_c;
use campaign::Campaign;
use unbloat_report::ReportError;
use unbloat_run::RunError;

#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("{file}: {error}")]
    Scenario {
        file: String,
        error: unbloat_scenario::text::Error,
    },
    #[error("cannot read {file}: {error}")]
    Read { file: String, error: std::io::Error },
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error("writing failed: {0}")]
    Write(#[from] std::io::Error),
    #[error("cannot watch for Ctrl-C: {0}")]
    Signal(#[from] ctrlc::Error),
    #[error("there is no table {name:?}; there are {known}")]
    NoTable { name: String, known: String },
}

pub fn run(args: &Args) -> Result<Exit, SimError> {
    let plan = input::plan(args)?;
    let stop = stop_on_ctrl_c()?;
    let campaign = Campaign::run(&plan, args.threads(), args.quiet, &stop);
    let all = rows::all(&plan, &campaign);
    match args.format {
        Some(kind) => store::print(args, kind, &all)?,
        None => print!("{}", text::text(&plan, &campaign)),
    }
    if !args.no_run && (args.format.is_none() || args.out.is_some()) {
        store::write(args, &plan, &campaign, &all)?;
    }
    Ok(match () {
        () if campaign.is_cut => Exit::Interrupted,
        () if campaign.keeps_bounds() => Exit::Complete,
        () => Exit::OutOfBounds,
    })
}
