//! One assumption changed at a time, and what it does to what follows.

use super::scored;
use crate::error::ValidateError;
use unbloat_lte_trace::Params;
use unbloat_lte_trace::score::results;
use unbloat_units::{Bytes, Delta};

/// A change, and the results that follow, by the columns below.
pub(super) struct Variation {
    pub name: &'static str,
    pub values: Vec<Option<f64>>,
}

/// Heading, name of the result, and the published number.
pub(super) const COLUMNS: [(&str, &str, f64); 8] = [
    (
        "flows without retransmission, %",
        "retransmission.flows_without_any",
        38.1,
    ),
    (
        "median dup. ACKs",
        "duplicate_acks_in_large_flows.median_duplicate_acks",
        17.0,
    ),
    (
        "over 100, %",
        "duplicate_acks_in_large_flows.flows_with_over_100",
        29.0,
    ),
    (
        "Rss > 1.5, % of large",
        "undesired_slow_start.of_all_large_flows",
        12.3,
    ),
    (
        "the same, truth, %",
        "truth.undesired_slow_start.of_all_large_flows",
        12.3,
    ),
    (
        "in flight > 200 KB, %",
        "bytes_in_flight.bins_above_200_kb",
        10.0,
    ),
    (
        "median utilisation, %",
        "bandwidth_utilisation.median",
        19.8,
    ),
    (
        "flows that filled the window, %",
        "receive_window.downlink_flows_that_filled_it",
        52.6,
    ),
];

/// All of one seed, the first: differences between rows are the assumption's.
const SEED: u64 = 1;

pub(super) fn variations(params: &Params, threads: u32) -> Result<Vec<Variation>, ValidateError> {
    type Change = fn(&mut Params);
    let changes: [(&'static str, Change); 13] = [
        ("default", |_| {}),
        ("loss before the monitor 0", |p| p.core_loss = 0.0),
        ("loss before the monitor 0.1 %", |p| p.core_loss = 1e-3),
        ("buffer 500 kB", |p| p.buffer = Bytes::new(500_000)),
        ("buffer 4 MB", |p| p.buffer = Bytes::new(4_000_000)),
        ("phones with windows of 131,712 B", |p| {
            p.phone_window = Bytes::new(131_712);
        }),
        ("phones with windows of 3 MiB", |p| {
            p.phone_window = Bytes::mib(3)
        }),
        ("floor of timeouts 30 ms", |p| p.rto_floor = Delta::ms(30)),
        ("round trips from SACK", |p| p.rtt_from_sacks = true),
        ("rates that do not vary", |p| p.rate_spread = 0.0),
        ("rates vary twice as much", |p| p.rate_spread = 1.0),
        ("no paced readers", |p| p.paced_readers = 0.0),
        ("one exchange a flow", |p| p.exchange_every = p.length()),
    ];
    let mut list = Vec::new();
    for (name, change) in changes {
        eprintln!("{name} ...");
        let mut changed = params.clone();
        change(&mut changed);
        let trace = scored(&changed, SEED, threads)?;
        let found = results(&trace.statistics, &trace.checks);
        let values = COLUMNS.iter().map(|(_, key, _)| found.get(*key).copied());
        list.push(Variation {
            name,
            values: values.collect(),
        });
    }
    Ok(list)
}
