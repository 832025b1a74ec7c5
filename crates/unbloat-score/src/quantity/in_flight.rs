//! Bytes in flight at the sender against its kernel's `snd_nxt - snd_una`.

use super::Quantity;
use crate::bed::Bed;
use crate::score::{Score, Unit};
use crate::statistics::share;
use crate::tuple::Tuple;
use std::collections::BTreeMap;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "bytes in flight",
    beds: &["bulk", "lossy", "steps", "rto"],
    definition: "At each ACK that the server's kernel processes: its `snd_nxt - snd_una` before it does, against the highest \
        byte sent less the highest acknowledged in the last row of table `in_flight` before that ACK in \
        the server's own capture.",
    score,
};

/// An ACK reaches the kernel so soon after it was captured, or is another one.
const DELIVERY_NS: i64 = 20_000_000;

struct State {
    time_ns: i64,
    in_flight: i64,
}

/// Our states of each flow's downlink data, in time order.
fn states(bed: &Bed) -> BTreeMap<Tuple, Vec<State>> {
    let mut states: BTreeMap<Tuple, Vec<State>> = BTreeMap::new();
    for row in bed.at_server.table("in_flight").rows() {
        let at = bed
            .at_server
            .data_tuple(row)
            .zip(bed.at_server.time_ns(row));
        let edges = row.number("seq_bytes").zip(row.number("ack_bytes"));
        let (Some((tuple, time_ns)), Some((seq, ack))) = (at, edges) else {
            continue;
        };
        let in_flight = (seq - ack) as i64;
        states
            .entry(tuple)
            .or_default()
            .push(State { time_ns, in_flight });
    }
    states
}

fn score(bed: &Bed) -> Vec<Score> {
    let states = states(bed);
    let [mut n, mut equal, mut queued] = [0; 3];
    let mut examples = Vec::new();
    let acks = bed
        .truth
        .kernel
        .iter()
        .filter(|r| r.kind == "ack" && r.side == "server");
    for row in acks {
        let data = row.tuple();
        let captured = bed
            .server
            .between(data.reversed(), row.time_ns - DELIVERY_NS, row.time_ns);
        let Some(ack) = captured.filter(|p| p.ack == row.value).last() else {
            continue;
        };
        let states = states.get(&data).map_or(&[][..], Vec::as_slice);
        let next = states.partition_point(|s| s.time_ns < ack.time_ns);
        let Some(ours) = next.checked_sub(1).map(|i| &states[i]) else {
            continue;
        };
        let theirs = i64::from(row.snd_nxt.wrapping_sub(row.snd_una));
        n += 1;
        if ours.in_flight == theirs {
            equal += 1;
        } else if is_queued(bed, data, ack.time_ns, row.snd_nxt) {
            queued += 1;
        } else if examples.len() < 3 {
            examples.push(format!(
                "{data} at {}: ours {}, kernel {theirs}",
                row.time_ns, ours.in_flight
            ));
        }
    }
    let mut score = Score::new("equal or in the device's queue", Unit::Share, n, share(equal + queued, n))
        .at_least(0.999)
        .note(format!(
            "{} equal outright; in {} more the kernel had sent what the capture, taken behind the device's queue, shows right after the ACK",
            share(equal, n).map_or_else(String::new, |s| Unit::Share.show(s)),
            queued
        ));
    score.notes.extend(examples);
    vec![score]
}

/// Whether the kernel's `snd_nxt` was still on its way to the capture when the ACK passed there.
fn is_queued(bed: &Bed, data: Tuple, ack_ns: i64, snd_nxt: u32) -> bool {
    let mut after = bed.server.between(data, ack_ns, ack_ns + DELIVERY_NS);
    after.any(|p| p.end() == snd_nxt)
}
