//! Bytes in flight at the sender against its kernel's `snd_nxt - snd_una`.

use super::Quantity;
use crate::bed::Bed;
use crate::packets::Packet;
use crate::score::{Score, Unit};
use crate::statistics::share;
use crate::tuple::Tuple;
use std::collections::BTreeMap;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "bytes in flight",
    beds: &["bulk", "lossy", "steps", "rto"],
    definition: "Each time the server's kernel processes an ACK while data is outstanding: its `snd_nxt - snd_una` before the ACK, \
        compared with table `in_flight` of the server's own capture: `seq_bytes` of the last row up to that moment minus \
        `ack_bytes` of the last row before that ACK. (ACKs may wait for the kernel while the socket is busy sending; both \
        values include what is sent in that time.) The ACK is found by its IP identification.",
    score,
};

/// An ACK reaches the kernel's TCP so soon after it was captured.
const DELIVERY_NS: i64 = 20_000_000;

/// Edges of a flow's downlink data after a packet.
struct State {
    time_ns: i64,
    sent: u32,
    acked: u32,
}

/// Our states of each flow's downlink data, in the capture's order.
fn states(bed: &Bed) -> BTreeMap<Tuple, Vec<State>> {
    let mut states: BTreeMap<Tuple, Vec<State>> = BTreeMap::new();
    for row in bed.at_server.table("in_flight").rows() {
        let at = bed
            .at_server
            .data_tuple(row)
            .zip(bed.at_server.time_ns(row));
        let edges = row.number("seq_bytes").zip(row.number("ack_bytes"));
        let (Some((tuple, time_ns)), Some((sent, acked))) = (at, edges) else {
            continue;
        };
        states.entry(tuple).or_default().push(State {
            time_ns,
            sent: sent as u64 as u32,
            acked: acked as u64 as u32,
        });
    }
    states
}

fn score(bed: &Bed) -> Vec<Score> {
    let states = states(bed);
    let [mut n, mut equal, mut uncaptured, mut unstated] = [0; 4];
    let mut examples = Vec::new();
    let acks = bed.truth.kernel.iter().filter(|r| r.kind == "ack");
    for row in acks {
        let data = row.tuple();
        let captured = bed
            .server
            .between(data.reversed(), row.time_ns - DELIVERY_NS, row.time_ns);
        let is_it = |p: &&Packet| p.ack == row.value && p.ip_id == row.ip_id;
        let Some(ack) = captured.filter(is_it).last() else {
            uncaptured += 1;
            continue;
        };
        let states = states.get(&data).map_or(&[][..], Vec::as_slice);
        let before = states[..states.partition_point(|s| s.time_ns < ack.time_ns)].last();
        let until = states[..states.partition_point(|s| s.time_ns <= row.time_ns)].last();
        let (Some(before), Some(until)) = (before, until) else {
            unstated += 1;
            continue;
        };
        let ours = until.sent.wrapping_sub(before.acked);
        let theirs = row.snd_nxt.wrapping_sub(row.snd_una);
        n += 1;
        equal += usize::from(ours == theirs);
        if ours != theirs && examples.len() < 3 {
            examples.push(format!(
                "{data} at {}: ours {ours}, kernel {theirs}",
                row.time_ns
            ));
        }
    }
    let mut score = Score::new("equal to the byte", Unit::Share, n, share(equal, n))
        .at_least(1.0)
        .note(format!("{} differ", n - equal))
        .note(format!(
            "excluded: {uncaptured} ACKs that are not in the capture, {unstated} before the first row of the table"
        ));
    score.notes.extend(examples);
    vec![score]
}
