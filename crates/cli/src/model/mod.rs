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

use crate::exit::{Exit, Failure};
use crate::output::write_run;
use crate::print::{self};
#[cfg(feature = "full")]
use clap::{Args as _, FromArgMatches};
use findings::Findings;
use question::Question;
#[cfg(feature = "full")]
use unbloat_table::{Rows, Table};

#[cfg(feature = "full")]
fn misread(error: clap::Error) -> Failure {
    error.to_string().trim().into()
}

/// The tables that the command has for these options.
#[cfg(feature = "full")]
pub fn tables_of(words: &[&str]) -> Result<Vec<(Table, Rows)>, Failure> {
    let matches = Args::augment_args(clap::Command::new("model").no_binary_name(true))
        .try_get_matches_from(words)
        .map_err(misread)?;
    let question = Question::of(&Args::from_arg_matches(&matches).map_err(misread)?)?;
    Ok(rows::all(&question, &Findings::of(&question)?)?)
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
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
