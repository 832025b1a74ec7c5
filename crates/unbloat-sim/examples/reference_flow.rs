//! Packets per CPU-second of the reference flows: CUBIC over 10 Mbit/s, 50 ms each way, 1,000 packets of FIFO, 60 s.
//!
//! `cargo run --release -p unbloat-sim --example reference_flow [REPEATS]`

#[path = "../tests/support/mod.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod support;

use support::{experiment, fifo, flow};
use unbloat_queue::Config as Queue;
use unbloat_sim::run;
use unbloat_units::{Delta, Rate};
use unbloat_workload::Config as Workload;

/// What the kernel has given this thread of a processor, in seconds.
fn cpu_seconds() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let ns = schedstat
        .split(' ')
        .next()
        .and_then(|ns| ns.parse::<f64>().ok());
    ns.expect("nanoseconds first") / 1e9
}

#[expect(clippy::disallowed_methods, reason = "an argument")]
fn main() {
    let repeats = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(20);
    println!(
        "{:<28} {:>9} {:>9} {:>12} {:>9}",
        "flows", "packets", "tasks", "Mpackets/s", "ns/packet"
    );
    let mut cases = vec![
        ("1 flow, fifo 1000", 1, Rate::mbps(10), fifo(1_000)),
        ("10 flows, fifo 10000", 10, Rate::mbps(100), fifo(10_000)),
    ];
    for (label, name) in [
        ("1 flow, codel", "codel"),
        ("1 flow, fq_codel", "fq_codel"),
        ("1 flow, pie", "pie"),
        ("1 flow, cake", "cake"),
    ] {
        cases.extend(Queue::named(name).map(|queue| (label, 1, Rate::mbps(10), queue)));
    }
    for (label, count, rate, queue) in cases {
        let flows = (0..count)
            .map(|n| {
                flow(
                    &format!("bulk{n}"),
                    Workload::Bulk(Default::default()),
                    "cubic",
                )
            })
            .collect();
        let plan = experiment(rate, Delta::ms(50), queue, flows);
        let begin = cpu_seconds();
        let (mut packets, mut tasks) = (0, 0);
        for _ in 0..repeats {
            let outcomes = run(&plan);
            packets += outcomes.paths[0].delivered_packets;
            tasks += outcomes.tasks;
        }
        let seconds = cpu_seconds() - begin;
        let speed = packets as f64 / seconds;
        println!(
            "{label:<28} {:>9} {:>9} {:>12.2} {:>9.0}",
            packets / repeats,
            tasks / repeats,
            speed / 1e6,
            1e9 / speed
        );
    }
}
