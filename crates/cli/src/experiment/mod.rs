//! Runs scenarios in the simulator or the lab: from file and options to runs, and from runs to tables, bounds and a run folder.

mod args;
mod averages;
mod campaign;
mod changes;
mod info;
mod input;
mod pool;
mod progress;
mod rows;
mod runs;
mod series;
mod text;

pub use args::Common;
pub use averages::mean_and_interval;
pub use campaign::Came;
pub use input::{Changes, Plan, plan, plan_of, read};
pub use pool::all_of;
pub use progress::Progress;
pub use rows::{averages_table, order, points_table, results_table, tables};
pub use series::{queue_rows, queue_table};

use crate::exit::Exit;
use crate::output::{OutputError, write_run};
use crate::print::{self, PrintError};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use unbloat_experiment::scenario::Experiment;
use unbloat_run::Clock;
use unbloat_units::Direction;

/// Runs experiments, with its own clock.
pub trait Runner: Sync {
    /// The command as the user types it.
    fn command(&self) -> &'static str;

    /// The first word of the run's folder.
    fn stem(&self) -> &'static str;

    fn clock(&self) -> Clock;

    /// Release of the kernel whose TCP is used.
    fn kernel(&self) -> Option<String> {
        None
    }

    /// Maximum number of parallel experiments.
    fn at_a_time(&self) -> usize;

    /// Whether an experiment takes as long as its configured duration.
    fn is_real_time(&self) -> bool {
        false
    }

    /// Runs the experiment with this number. None: it was stopped and has no results.
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
        error: unbloat_experiment::scenario::toml::Error,
    },
    #[error("cannot read {file}: {error}")]
    Read { file: String, error: std::io::Error },
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("cannot install the Ctrl-C handler: {0}")]
    Signal(#[from] ctrlc::Error),
    #[error(transparent)]
    Undo(#[from] unbloat_undo::UndoError),
    #[error(
        "captures need a single run with a folder: omit --repeats, [sweep] and arrays in --set, and give --out if --format is given"
    )]
    Captures,
    #[error(
        "{file}: link.{direction}.queue: the simulator has no kernel to provide {words:?}; use `unbloat lab run --virtual`, or \"kind\" instead of \"kernel\""
    )]
    KernelQueue {
        file: String,
        direction: Direction,
        words: String,
    },
    #[error(transparent)]
    Guest(#[from] unbloat_uml::GuestError),
    #[error(
        "virtual time in the guest stopped {at} after the start and did not advance for {} s; a program in the guest probably waits in a busy loop", patience.as_secs()
    )]
    Stalled {
        at: unbloat_units::Delta,
        patience: std::time::Duration,
    },
    #[error("cannot read the results of the guest: {0}")]
    HandedBack(String),
    #[error("argument {} is not valid UTF-8, which --virtual requires", argument.to_string_lossy())]
    Argument { argument: std::ffi::OsString },
    #[error(transparent)]
    Lab(#[from] unbloat_lab::LabError),
    /// The results are printed and written nevertheless.
    #[error("{0}")]
    Show(String),
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// Runs a plan, prints the results and writes the run folder. Returns the path of the folder, if there is one.
pub fn run(
    args: &Common,
    plan: &Plan,
    runner: &impl Runner,
    stop: &AtomicBool,
) -> Result<(Exit, Option<PathBuf>), ExperimentError> {
    let campaign = runs::run_all(plan, runner, args.quiet, stop)?;
    let all = rows::all(plan, &campaign);
    match args.print.of(&args.table) {
        Some(wanted) => wanted.print(&all)?,
        None => print::text(&text::text(plan, &campaign))?,
    }
    let mut dir = None;
    if args.run.is_wanted(&args.print) {
        let info = info::info(args, plan, &campaign, runner);
        let stem = plan.file.file_stem().unwrap_or_default().to_string_lossy();
        let stem = format!("{}-{stem}", runner.stem());
        dir = Some(write_run(args.run.out.as_deref(), &stem, &info, &all)?);
    }
    if !campaign.is_cut
        && let Some(unknown) = text::unknown(plan, &campaign)
    {
        return Err(ExperimentError::Show(unknown));
    }
    let exit = match () {
        () if campaign.is_cut => Exit::Interrupted,
        () if campaign.keeps_bounds() => Exit::Complete,
        () => Exit::OutOfBounds,
    };
    Ok((exit, dir))
}
