//! What a packet and a flow cost when there are many: N flows over N times 1 Mbit/s, 50 ms each way, N times 20 packets of FIFO.
//!
//! `cargo run --release -p unbloat-sim --example many_flows [FLOWS [CONTROL [--ack-all]]]`
//!
//! Each flow does the same work however many there are: 10 s, some 800 packets. Few flows are run as often as makes a thousand.
//! Prints runs, delivered packets, seconds of CPU and kB by which the process grew.

mod process;
#[path = "../tests/sim/support/mod.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod support;

use process::{cpu_seconds, memory_kb};
use support::{experiment, fifo, flow};
use unbloat_experiment::scenario::{Experiment, Flow};
use unbloat_sim::run;
use unbloat_units::{Delta, Rate, Time};
use unbloat_workload::Config as Workload;

const DELAY: Delta = Delta::ms(50);
const PLACES: u32 = 20;
/// Those of fewer flows are run again until there are so many.
const LEAST_FLOWS: u32 = 1_000;

#[expect(clippy::disallowed_methods, reason = "arguments")]
fn main() {
    let mut args = std::env::args().skip(1);
    let flows = args.next().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let control = args.next().unwrap_or_else(|| "cubic".into());
    let acks_all = args.next().is_some_and(|arg| arg == "--ack-all");
    let memory = memory_kb("VmRSS");
    let plan = plan(flows, &control, acks_all);
    let runs = LEAST_FLOWS.div_ceil(flows);
    let begin = cpu_seconds();
    let packets = (0..runs).map(|_| run(&plan).paths.down.delivered_packets);
    let packets: u64 = packets.sum();
    let seconds = cpu_seconds() - begin;
    let grown = memory_kb("VmHWM") - memory;
    println!("{runs} {packets} {seconds:.4} {grown}");
}

fn plan(flows: u32, control: &str, acks_all: bool) -> Experiment {
    let round = DELAY * 2;
    let starting_at = |number: u32| {
        let start = Time::from_ns(0) + round * i64::from(number) / i64::from(flows);
        bulk(start, control, acks_all)
    };
    let flows_of_plan = (0..flows).map(starting_at).collect();
    let rate = Rate::mbps(flows.into());
    Experiment {
        duration: Delta::secs(10),
        keeps_series: false,
        ..experiment(rate, DELAY, fifo(PLACES * flows), flows_of_plan)
    }
}

fn bulk(start: Time, control: &str, acks_all: bool) -> Flow {
    let mut flow = Flow {
        start,
        ..flow("bulk", Workload::Bulk(Default::default()), control)
    };
    flow.receivers.down.ack_every_segment = acks_all;
    flow
}
