//! `unbloat sim`: scenarios in virtual time.

use crate::exit::Exit;
use crate::experiment::{self, Came, Common, ExperimentError, Plan, Progress, Runner};
use crate::stop::stop_on_ctrl_c;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_experiment::scenario::Experiment;
use unbloat_run::Clock;

/// Simulate a scenario in virtual time and report delay and throughput.
///
/// Use it to compare buffers, queue disciplines, congestion controls, receive windows or radio links.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat sim scenarios/bulk-and-call.toml
  unbloat sim scenarios/bulk-and-call.toml --set link.down.queue=fq_codel
  unbloat sim scenarios/bulk-and-call.toml --set 'link.down.queue.limit=[\"0.5 BDP\", \"4 BDP\"]'
  unbloat sim scenarios/buffer-sweep.toml --repeats 10 --format csv > results.csv
  unbloat sim scenarios/buffer-sweep.toml --show down.queue_delay_p95_ms,call.mos
If the scenario has [score], the exit code is 4 when a bound is violated.")]
pub struct Args {
    #[command(flatten)]
    common: Common,

    /// Number of threads; does not affect results [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

pub fn run(args: &Args) -> Result<Exit, ExperimentError> {
    let plan = experiment::plan(&args.common)?;
    refuse_kernel_queues(&plan)?;
    let stop = stop_on_ctrl_c()?;
    let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let simulator = Simulator {
        threads: args.threads.map_or_else(all, NonZeroUsize::get),
    };
    experiment::run(&args.common, &plan, &simulator, &stop).map(|(exit, _)| exit)
}

fn refuse_kernel_queues(plan: &Plan) -> Result<(), ExperimentError> {
    let directions = plan
        .points
        .iter()
        .flat_map(|point| point.kernel_queues.entries());
    for (direction, queue) in directions {
        if let Some(queue) = queue {
            return Err(ExperimentError::KernelQueue {
                file: plan.file.display().to_string(),
                direction,
                words: queue.words.clone(),
            });
        }
    }
    Ok(())
}

/// Runs experiments in the simulator.
pub struct Simulator {
    pub threads: usize,
}

impl Runner for Simulator {
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
        _progress: &Progress,
    ) -> Result<Option<Came>, ExperimentError> {
        let mut may_go_on = |_| !stop.load(Ordering::Relaxed);
        Ok(unbloat_sim::run_while(experiment, &mut may_go_on)
            .map(|outcomes| Came::of(&outcomes, index)))
    }
}
