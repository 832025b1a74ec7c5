//! Packets per CPU-second of the reference flows: CUBIC over 10 Mbit/s, 50 ms each way, 1,000 packets of FIFO, 60 s.
//!
//! `cargo run --release -p unbloat-sim --example reference_flow [REPEATS [CASE...]]`

#[expect(dead_code, reason = "the other examples use the rest")]
mod process;
#[path = "../tests/sim/support/mod.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod support;

use process::cpu_seconds;
use support::{experiment, fifo, flow};
use unbloat_qdisc::Config as Queue;
use unbloat_sim::run;
use unbloat_units::{Delta, Rate};
use unbloat_workload::Config as Workload;

/// Name, flows, rate and queue: both grow with the number of flows.
fn cases() -> Vec<(&'static str, u32, Rate, Queue)> {
    let mut cases = vec![
        ("fifo", 1, Rate::mbps(10), fifo(1_000)),
        ("fifo-10", 10, Rate::mbps(100), fifo(10_000)),
    ];
    for name in ["codel", "fq_codel", "pie", "cake"] {
        cases.extend(Queue::named(name).map(|queue| (name, 1, Rate::mbps(10), queue)));
    }
    cases
}

#[expect(clippy::disallowed_methods, reason = "arguments")]
fn main() {
    let mut args = std::env::args().skip(1);
    let repeats = args.next().and_then(|n| n.parse().ok()).unwrap_or(20);
    let only: Vec<String> = args.collect();
    println!(
        "{:<10} {:>9} {:>9} {:>12} {:>9}",
        "case", "packets", "tasks", "Mpackets/s", "ns/packet"
    );
    for (name, count, rate, queue) in cases() {
        if only.is_empty() || only.iter().any(|wanted| wanted == name) {
            measure(name, count, rate, queue, repeats);
        }
    }
}

fn measure(name: &str, count: u32, rate: Rate, queue: Queue, repeats: u64) {
    let bulk = || Workload::Bulk(Default::default());
    let flows = (0..count).map(|n| flow(&format!("bulk{n}"), bulk(), "cubic"));
    let plan = experiment(rate, Delta::ms(50), queue, flows.collect());
    let begin = cpu_seconds();
    let (mut packets, mut tasks) = (0, 0);
    for _ in 0..repeats {
        let outcomes = run(&plan);
        packets += outcomes.paths.down.delivered_packets;
        tasks += outcomes.tasks;
    }
    let speed = packets as f64 / (cpu_seconds() - begin);
    println!(
        "{name:<10} {:>9} {:>9} {:>12.3} {:>9.0}",
        packets / repeats,
        tasks / repeats,
        speed / 1e6,
        1e9 / speed
    );
}
