//! `unbloat sim`: scenarios in virtual time.

use crate::exit::{Exit, Failure};
use crate::experiment::{self, Common};
use crate::stop::stop_on_ctrl_c;
use std::num::NonZeroUsize;
use unbloat_api::experiment::{Simulator, refuse_kernel_queues};

/// Simulate a scenario in virtual time and report delay and throughput.
///
/// Use it to compare buffers, queue disciplines, congestion controls, receive windows or radio links.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat sim scenarios/bulk-and-call.toml
  unbloat sim scenarios/bulk-and-call.toml --set link.down.queue=fq_codel
  unbloat sim scenarios/bulk-and-call.toml \\
    --set 'link.down.queue.limit=[\"0.5 BDP\", \"4 BDP\"]'
  unbloat sim scenarios/buffer-sweep.toml --repeats 10 --format csv \\
    > results.csv
  unbloat sim scenarios/buffer-sweep.toml \\
    --show down.queue_delay_p95_ms,call.mos
If the scenario has [score], the exit code is 4 when a bound is violated.")]
pub struct Args {
    #[command(flatten)]
    common: Common,

    /// Number of threads (does not affect results) [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let plan = experiment::plan(&args.common)?;
    refuse_kernel_queues(&plan)?;
    let stop = stop_on_ctrl_c()?;
    let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let simulator = Simulator {
        threads: args.threads.map_or_else(all, NonZeroUsize::get),
    };
    experiment::run(&args.common, &plan, &simulator, &stop).map(|(exit, _)| exit)
}
