//! `unbloat model`: queueing models of a bottleneck, and the questions asked of them the other way
//! round.

mod args;
mod buffers;
mod findings;
mod measured;
mod metrics;
mod question;
mod rows;
mod store;

pub use args::Args;
pub use rows::tables;

use crate::exit::Exit;
use findings::Findings;
use measured::MeasuredError;
use question::Question;
use unbloat_model::ModelError;
use unbloat_report::ReportError;
use unbloat_run::RunError;

#[derive(Debug, thiserror::Error)]
pub enum ModelCommandError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Measured(#[from] MeasuredError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error("writing failed: {0}")]
    Write(#[from] std::io::Error),
    #[error("there is no table {name:?}; there are {known}")]
    NoTable { name: String, known: String },
}

pub fn run(args: &Args) -> Result<Exit, ModelCommandError> {
    let question = Question::of(args)?;
    let findings = Findings::of(&question)?;
    let all = rows::all(&question, &findings)?;
    if let Some(kind) = args.format {
        store::print(args, kind, &all)?;
    } else {
        print!("{}", findings.text(&question));
    }
    if !args.no_run && (args.format.is_none() || args.out.is_some()) {
        store::write(args, &question, &all)?;
    }
    Ok(Exit::Complete)
}
