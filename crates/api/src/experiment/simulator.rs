//! Scenarios in virtual time.

use super::{Came, Plan, PlanError, Progress, Runner};
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_experiment::scenario::Experiment;
use unbloat_run::Clock;

/// Refuses a plan whose queues only a kernel has.
///
/// # Errors
/// The plan has such a queue.
pub fn refuse_kernel_queues(plan: &Plan) -> Result<(), PlanError> {
    let directions = plan
        .points
        .iter()
        .flat_map(|point| point.kernel_queues.entries());
    for (direction, queue) in directions {
        if let Some(queue) = queue {
            return Err(PlanError::KernelQueue {
                file: plan.file.display().to_string(),
                direction,
                words: queue.words.clone(),
            });
        }
    }
    Ok(())
}

/// Runs experiments in the simulator. No run fails.
pub struct Simulator {
    /// Maximum number of parallel experiments; does not affect results.
    pub threads: usize,
}

impl<E> Runner<E> for Simulator {
    fn command(&self) -> &'static str {
        "unbloat sim"
    }

    fn stem(&self) -> &'static str {
        "sim"
    }

    fn clock(&self) -> Clock {
        Clock::Virtual
    }

    fn at_a_time(&self) -> usize {
        self.threads
    }

    fn run(
        &self,
        experiment: &Experiment,
        index: usize,
        stop: &AtomicBool,
        _progress: &dyn Progress,
    ) -> Result<Option<Came>, E> {
        let mut may_go_on = |_| !stop.load(Ordering::Relaxed);
        Ok(unbloat_sim::run_while(experiment, &mut may_go_on)
            .map(|outcomes| Came::of(&outcomes, index)))
    }
}
