//! Bytes against what the applications wrote and read.

use super::Quantity;
use crate::bed::Bed;
use crate::score::{Score, Unit};
use crate::statistics::share;
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
    definition: "`unique_down_bytes` and `unique_up_bytes` of each connection that was closed, compared with what the applications read: \
        the client's and the server's. n counts directions. tcptrace: the sum of its unique bytes over all connections.",
    score,
};

const COLUMNS: [&str; 2] = ["unique_down_bytes", "unique_up_bytes"];

fn score(bed: &Bed) -> Vec<Score> {
    let mut exchanged: BTreeMap<Tuple, [u64; 2]> = BTreeMap::new();
    let mut broken = BTreeSet::new();
    for connection in &bed.truth.connections {
        if !connection.is_through() {
            broken.insert(connection.tuple());
        }
        let sums = exchanged.entry(connection.tuple()).or_default();
        *sums = [sums[0] + connection.read_down, sums[1] + connection.read_up];
    }
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
