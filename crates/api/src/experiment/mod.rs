//! Runs scenarios, in the simulator or by any other [`Runner`]: from file and changes to runs, and from runs to tables, bounds and text.

mod averages;
mod campaign;
mod changes;
mod info;
mod plan;
mod pool;
mod rows;
mod runs;
mod series;
mod simulator;
mod text;

pub use averages::{Average, averages, mean_and_interval};
pub use campaign::{Came, Campaign, Run};
pub use info::info;
pub use plan::{Changes, Plan, read};
pub use pool::all_of;
pub use rows::{AverageRow, PointRow, ResultRow, all, tables};
pub use runs::run_all;
pub use series::{QueueRow, is_series, queue_rows};
pub use simulator::{Simulator, refuse_kernel_queues};
pub use text::{judgements, text, unknown};
pub use unbloat_text::Layout;

use std::sync::atomic::AtomicBool;
use unbloat_experiment::scenario::Experiment;
use unbloat_run::Clock;
use unbloat_units::{Direction, Time};

/// Runs experiments, with its own clock. `E` is how a run fails.
pub trait Runner<E>: Sync {
    /// The command as the user types it.
    fn command(&self) -> &'static str;

    /// The first word of the run's folder.
    fn stem(&self) -> &'static str;

    /// Whose time the tables tell.
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
    ///
    /// # Errors
    /// The experiment cannot be run.
    fn run(
        &self,
        experiment: &Experiment,
        index: usize,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Option<Came>, E>;
}

/// Sees how far the runs are.
pub trait Progress: Sync {
    /// A current run has reached this time.
    fn at(&self, _at: Time) {}

    /// Whether anybody looks.
    fn is_shown(&self) -> bool {
        false
    }

    /// One more run is done.
    fn done(&self) {}
}

/// Nobody looks.
impl Progress for () {}

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("{file}: {error}")]
    Scenario {
        file: String,
        error: unbloat_experiment::scenario::toml::Error,
    },
    #[error("cannot read {file}: {error}")]
    Read { file: String, error: std::io::Error },
    #[error(
        "{file}: link.{direction}.queue: the simulator has no kernel to provide {words:?}; use `unbloat lab run --virtual`, or \"kind\" instead of \"kernel\""
    )]
    KernelQueue {
        file: String,
        direction: Direction,
        words: String,
    },
}
