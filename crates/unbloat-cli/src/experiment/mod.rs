//! Scenarios, whoever runs them: simulator or lab. From file and options to runs, from runs to tables, bounds and a folder.

mod args;
mod averages;
mod campaign;
mod info;
mod input;
mod progress;
mod rows;
mod text;

pub use args::Common;
pub use averages::mean_and_interval;
pub use campaign::Came;
pub use input::{Plan, plan, read};
pub use progress::Progress;
pub use rows::{order, queue_rows, tables};

use crate::exit::Exit;
use crate::output::{OutputError, Wanted, write_run};
use crate::print::{self, PrintError};
use campaign::Campaign;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use unbloat_run::Clock;
use unbloat_scenario::Experiment;

/// What runs experiments, by its own clock.
pub trait Runner: Sync {
    /// As the user calls it.
    fn command(&self) -> &'static str;

    /// The first word of the run's folder.
    fn stem(&self) -> &'static str;

    fn clock(&self) -> Clock;

    /// Release of the kernel whose TCP it is.
    fn kernel(&self) -> Option<String> {
        None
    }

    /// Experiments that may run at the same time.
    fn at_a_time(&self) -> usize;

    /// An experiment takes as long as it says.
    fn is_real_time(&self) -> bool {
        false
    }

    /// Runs the experiment of that number. None: it was stopped, and there is nothing to tell of it.
    fn run(
        &self,
        experiment: &Experiment,
        index: usize,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<Option<Came>, ExperimentError>;
}

#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    #[error("{file}: {error}")]
    Scenario {
        file: String,
        error: unbloat_scenario::text::Error,
    },
    #[error("cannot read {file}: {error}")]
    Read { file: String, error: std::io::Error },
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("cannot watch for Ctrl-C: {0}")]
    Signal(#[from] ctrlc::Error),
    #[error(transparent)]
    Undo(#[from] unbloat_undo::UndoError),
    #[error(
        "captures are of a single run with a folder: leave out --repeats, [sweep] and arrays in --set, and give --out where --format is given"
    )]
    Captures,
    #[error(
        "{file}: link.{direction}.queue: the simulator has no kernel and so no {words:?}; run it with unbloat lab run --virtual, or give \"kind\" instead of \"kernel\""
    )]
    KernelQueue {
        file: String,
        direction: &'static str,
        words: String,
    },
    #[error(transparent)]
    Guest(#[from] unbloat_guest::GuestError),
    #[error(
        "time stood still in the guest for {} s, {at} after the beginning: something in it waits by spinning", patience.as_secs()
    )]
    Stalled {
        at: unbloat_units::Delta,
        patience: std::time::Duration,
    },
    #[error("the guest handed back what cannot be read: {0}")]
    HandedBack(String),
    #[error("{}: arguments of a virtual run are handed to a guest, which takes text only", argument.to_string_lossy())]
    Argument { argument: std::ffi::OsString },
    #[error(transparent)]
    Lab(#[from] unbloat_lab::LabError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// Runs a plan, prints what came of it and writes the folder; where that is, if there is one.
pub fn run(
    args: &Common,
    plan: &Plan,
    runner: &impl Runner,
    stop: &AtomicBool,
) -> Result<(Exit, Option<PathBuf>), ExperimentError> {
    let campaign = Campaign::run(plan, runner, args.quiet, stop)?;
    let all = rows::all(plan, &campaign);
    match args.format {
        Some(kind) => {
            let wanted = Wanted {
                table: &args.table,
                kind,
                rows: args.rows,
            };
            wanted.print(&all)?;
        }
        None => print::text(&text::text(plan, &campaign))?,
    }
    let mut dir = None;
    if args.writes_run() {
        let info = info::info(args, plan, &campaign, runner);
        let stem = plan.file.file_stem().unwrap_or_default().to_string_lossy();
        let stem = format!("{}-{stem}", runner.stem());
        dir = Some(write_run(args.out.as_deref(), &stem, &info, &all)?);
    }
    let exit = match () {
        () if campaign.is_cut => Exit::Interrupted,
        () if campaign.keeps_bounds() => Exit::Complete,
        () => Exit::OutOfBounds,
    };
    Ok((exit, dir))
}
