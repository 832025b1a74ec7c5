//! `unbloat model`: queueing models of a bottleneck, and the inverse problems: buffer for a delay,
//! buffer for a measured curve.

mod args;
mod buffers;
mod findings;
mod info;
mod measured;
mod metrics;
mod question;
mod rows;

pub use args::Args;
pub use rows::tables;

use crate::exit::Exit;
use crate::output::{OutputError, write_run};
use crate::print::{self, PrintError};
use findings::Findings;
use measured::MeasuredError;
use question::Question;
use unbloat_queueing::ModelError;

#[derive(Debug, thiserror::Error)]
pub enum ModelCommandError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Measured(#[from] MeasuredError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub fn run(args: &Args) -> Result<Exit, ModelCommandError> {
    let question = Question::of(args)?;
    let findings = Findings::of(&question)?;
    let all = rows::all(&question, &findings)?;
    match args.print.of(&args.table) {
        Some(wanted) => wanted.print(&all)?,
        None => print::text(&findings.text(&question))?,
    }
    if args.run.is_wanted(&args.print) {
        let info = info::info(args, &question);
        write_run(args.run.out.as_deref(), "model", &info, &all)?;
    }
    Ok(Exit::Complete)
}
