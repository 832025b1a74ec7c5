//! Bytes against what the applications wrote and read.

use super::Quantity;
use crate::bed::Bed;
use crate::score::{Score, Unit};
use crate::statistics::share;
use crate::truth::Request;
use crate::tuple::Tuple;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const QUANTITY: Quantity = Quantity {
    name: "bytes conserved",
    beds: &[
        "bulk",
        "lossy",
        "steps",
        "promotion",
        "rto",
        "upload",
        "mix",
        "ticks-1",
        "ticks-4",
        "ticks-10",
    ],
    definition: "`unique_down_bytes` and `unique_up_bytes` of each connection that was closed, compared with the bodies that the \
        applications logged plus the HTTP heads, rebuilt from the logged requests. n counts directions. tcptrace: the sum of \
        its unique bytes over all connections.",
    score,
};

const COLUMNS: [&str; 2] = ["unique_down_bytes", "unique_up_bytes"];

/// Bytes of one exchange, down and up, heads as the bed's server and client write them.
fn exchange(request: &Request) -> [u64; 2] {
    let content_type = match request.content_type.as_str() {
        "" => String::new(),
        name => format!("Content-Type: {name}\r\n"),
    };
    let length = request.content_length;
    let response =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{content_type}Server: lab\r\n\r\n");
    let Request {
        method, host, path, ..
    } = request;
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: lab\r\n\r\n");
    if request.posted_bytes > 0 {
        head += &format!("Content-Length: {}\r\n", request.posted_bytes);
    }
    [
        response.len() as u64 + length,
        head.len() as u64 + request.posted_bytes,
    ]
}

fn score(bed: &Bed) -> Vec<Score> {
    let mut exchanged: BTreeMap<Tuple, [u64; 2]> = BTreeMap::new();
    for request in &bed.truth.requests {
        let [down, up] = exchange(request);
        let sums = exchanged.entry(request.tuple()).or_default();
        *sums = [sums[0] + down, sums[1] + up];
    }
    let broken: BTreeSet<Tuple> = bed
        .truth
        .connections
        .iter()
        .filter(|c| !matches!(c.outcome.as_str(), "fin" | "late_fin"))
        .map(|c| c.tuple())
        .collect();
    exchanged.retain(|tuple, _| !broken.contains(tuple));
    // Clients take ports again: all flows of a tuple against all connections of it.
    let mut counted: BTreeMap<Tuple, [u64; 2]> = BTreeMap::new();
    for flow in bed.at_monitor.table("flows").rows() {
        if let Some(down) = bed.at_monitor.data_tuple(flow) {
            let sums = counted.entry(down.reversed()).or_default();
            let bytes = COLUMNS.map(|column| flow.count(column) as u64);
            *sums = [sums[0] + bytes[0], sums[1] + bytes[1]];
        }
    }
    let [mut n, mut equal] = [0; 2];
    let mut examples = Vec::new();
    for (up, sums) in &exchanged {
        let of_flows = counted.get(up).copied().unwrap_or_default();
        for ((column, &theirs), ours) in COLUMNS.into_iter().zip(sums).zip(of_flows) {
            n += 1;
            equal += usize::from(ours == theirs);
            if ours != theirs && examples.len() < 3 {
                examples.push(format!("{up}: {column} {ours}, truly {theirs}"));
            }
        }
    }
    let mut score = Score::new(
        "directions equal to the byte",
        Unit::Share,
        n,
        share(equal, n),
    )
    .at_least(1.0);
    score.notes = examples;
    let ours = bed.at_monitor.total("unique_down_bytes");
    score.tcptrace = bed
        .tcptrace
        .map(|t| format!("{} B down in all, ours {ours} B", t.down.unique_bytes));
    vec![score]
}
