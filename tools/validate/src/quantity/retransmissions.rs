//! Retransmissions against the packets that were lost after the monitor.

use super::{Quantity, is_down};
use crate::bed::Bed;
use crate::packets::Packet;
use crate::score::{Score, Unit};
use crate::statistics::share;
use crate::truth::Drop;
use crate::tuple::Tuple;
use std::collections::{BTreeMap, BTreeSet};
use unbloat_units::Direction;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "retransmissions",
    beds: &["bulk", "lossy", "rto", "upload", "mix"],
    definition: "Data packets that the analyzer counts as retransmitted, minus those it calls spurious (DSACK or Eifel), compared with \
        the data packets that the path dropped after the monitor and that were sent again. n is the latter; it includes the few \
        that reached the receiver and were rejected unread by PAWS (RFC 7323 section 5). Needless copies whose DSACK did not \
        pass the monitor may be counted or not: the capture shows no sign of them. tshark: `tcp.analysis.retransmission`; \
        tcptrace: rexmt data pkts; both as the excess over n plus the copies that the bed knows to be needless.",
    score,
};

fn score(bed: &Bed) -> Vec<Score> {
    Direction::BOTH
        .into_iter()
        .filter_map(|side| one_side(bed, side))
        .collect()
}

fn one_side(bed: &Bed, side: Direction) -> Option<Score> {
    let name = side.name();
    let lost = || {
        let drops = bed.truth.drops.iter();
        let of_side = drops.filter(move |d| is_down(d.packet.tuple) == (side == Direction::Down));
        of_side.filter(|d| d.packet.payload_bytes > 0 && !d.is_before_monitor)
    };
    let dropped = lost().count();
    let again = lost().filter(|drop| is_sent_again(bed, drop)).count();
    let counted = bed
        .at_monitor
        .total(&format!("retransmitted_{name}_packets"));
    if again + counted == 0 {
        return None;
    }
    let spurious = bed.at_monitor.total(&format!("spurious_{name}_packets"));
    let copies = needless_copies(bed, side);
    let truth = again + copies.refused;
    let told = counted.saturating_sub(spurious);
    let off = told.abs_diff(told.clamp(truth, truth + copies.untold));
    let measure = match side {
        Direction::Down => "downlink, unexplained",
        Direction::Up => "uplink, unexplained",
    };
    let of_truth = |theirs: usize| match truth + copies.needless {
        0..20 => format!("{theirs} counted"),
        all => format!("{:+.2} %", (theirs as f64 / all as f64 - 1.0) * 100.0),
    };
    let tshark = bed.tshark.as_ref().map(|tshark| {
        let packets = tshark
            .all
            .iter()
            .filter(|p| p.payload_bytes > 0 && p.is_retransmission);
        packets
            .filter(|p| is_down(p.tuple) == (side == Direction::Down))
            .count()
    });
    let tcptrace = bed.tcptrace.map(|counts| counts[side].retransmitted);
    let mut score = Score::new(
        measure,
        Unit::Share,
        truth,
        share(off, truth).or((off == 0).then_some(0.0)),
    )
    .at_most(0.01)
    .note(format!(
        "counted {counted}, {spurious} of them called spurious"
    ))
    .note(format!(
        "the path dropped {dropped}, of which {} were never sent again",
        dropped - again
    ))
    .note(format!(
        "{} arrivals were rejected by the receiver's timestamp check",
        copies.refused
    ))
    .note(format!(
        "{} copies were needless, {} of them without a DSACK",
        copies.needless, copies.untold
    ));
    score.tshark = tshark.map(of_truth);
    score.tcptrace = tcptrace.map(of_truth);
    Some(score)
}

/// Whether any of its bytes passed the monitor later.
fn is_sent_again(bed: &Bed, drop: &Drop) -> bool {
    let lost = drop.packet;
    let later = bed.monitor.between(lost.tuple, drop.time_ns + 1, i64::MAX);
    let from = lost.seq;
    let mut copies = later.filter(|p| {
        p.payload_bytes > 0
            && (p.seq.wrapping_sub(from) < lost.payload_bytes
                || from.wrapping_sub(p.seq) < p.payload_bytes)
    });
    copies.next().is_some()
}

/// Copies that begin where a packet began that passed the monitor before and reached its receiver.
struct Copies {
    /// The receiver had refused what reached it: see [`is_refused`].
    refused: usize,
    needless: usize,
    /// Of those: no DSACK for them passed the monitor, be it lost or never sent.
    untold: usize,
}

fn needless_copies(bed: &Bed, side: Direction) -> Copies {
    let drops = bed.truth.drops.iter().filter(|d| !d.is_before_monitor);
    let lost: BTreeSet<(Tuple, u32, u16)> = drops.map(|d| d.packet.key()).collect();
    let mut arrived: BTreeMap<(Tuple, u32), &Packet> = BTreeMap::new();
    let is_data =
        |p: &&Packet| p.payload_bytes > 0 && is_down(p.tuple) == (side == Direction::Down);
    let mut copies = Copies {
        refused: 0,
        needless: 0,
        untold: 0,
    };
    for packet in bed.monitor.all.iter().filter(is_data) {
        let key = (packet.tuple, packet.seq);
        match arrived.get(&key) {
            Some(first) if is_refused(bed, first) => copies.refused += 1,
            Some(_) => {
                copies.needless += 1;
                copies.untold += usize::from(!is_told(bed, packet));
            }
            None => {}
        }
        if !lost.contains(&(packet.tuple, packet.seq, packet.ip_id)) {
            arrived.insert(key, packet);
        }
    }
    copies
}

/// Whether a DSACK for a needless copy passed the monitor after it.
fn is_told(bed: &Bed, copy: &Packet) -> bool {
    let mut acks = bed
        .monitor
        .between(copy.tuple.reversed(), copy.time_ns, i64::MAX);
    acks.any(|ack| {
        let begins =
            |(left, right): (u32, u32)| copy.seq.wrapping_sub(left) < right.wrapping_sub(left);
        ack.twice.is_some_and(begins)
    })
}

/// Whether the receiver dropped `arrival` unread (PAWS, RFC 7323 section 5): its ACKs asked for these
/// bytes and echoed a timestamp more than one tick newer than theirs.
fn is_refused(bed: &Bed, arrival: &Packet) -> bool {
    let Some((tsval, _)) = arrival.timestamps else {
        return false;
    };
    let mut acks = bed
        .monitor
        .between(arrival.tuple.reversed(), arrival.time_ns, i64::MAX);
    acks.any(|ack| {
        let newer = |(_, tsecr): (u32, u32)| (2..1 << 31).contains(&tsecr.wrapping_sub(tsval));
        ack.ack == arrival.seq && ack.timestamps.is_some_and(newer)
    })
}
