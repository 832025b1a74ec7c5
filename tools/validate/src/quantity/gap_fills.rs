//! Gap fills: overtaken, or lost before the monitor and sent again?

use super::Quantity;
use crate::analysed::Row;
use crate::bed::Bed;
use crate::packets::Packet;
use crate::score::{Score, Unit};
use crate::statistics::share;
use crate::tuple::Tuple;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const QUANTITY: Quantity = Quantity {
    name: "gap fills",
    beds: &["lossy", "mix"],
    definition: "Each packet that the analyzer calls `reordering`, `upstream_loss` or `ambiguous`, compared with what the path did: it \
        dropped bytes of the packet before the monitor (loss), or else packets of the connection that had entered the path \
        later came to the monitor before it (reordering). `ambiguous` is never correct. tshark, on the same packets: out-of-order counts as reordering, \
        any retransmission as loss. tcptrace calls every gap fill out-of-order; it is correct where there was reordering.",
    score,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happened {
    Overtaken,
    Lost,
    Neither,
}

impl Happened {
    fn name(self) -> &'static str {
        match self {
            Happened::Overtaken => "overtaken",
            Happened::Lost => "lost",
            Happened::Neither => "neither",
        }
    }
}

/// What befell packets before the monitor.
struct Record {
    lost: BTreeMap<Tuple, Vec<(i64, u32, u32)>>,
    overtaken: BTreeSet<(Tuple, u32, u16)>,
}

impl Record {
    fn of(bed: &Bed) -> Record {
        let mut lost: BTreeMap<Tuple, Vec<_>> = BTreeMap::new();
        for drop in bed.truth.drops.iter().filter(|d| d.is_before_monitor) {
            let entry = (drop.time_ns, drop.packet.seq, drop.packet.payload_bytes);
            lost.entry(drop.packet.tuple).or_default().push(entry);
        }
        Record {
            lost,
            overtaken: bed.truth.overtaken.clone(),
        }
    }

    fn happened(&self, packet: &Packet) -> Happened {
        let drops = self.lost.get(&packet.tuple).map_or(&[][..], Vec::as_slice);
        let covers = |&&(time_ns, seq, bytes): &&(i64, u32, u32)| {
            let overlaps = packet.seq.wrapping_sub(seq) < bytes
                || seq.wrapping_sub(packet.seq) < packet.payload_bytes;
            time_ns < packet.time_ns && overlaps
        };
        if drops.iter().find(covers).is_some() {
            Happened::Lost
        } else if self
            .overtaken
            .contains(&(packet.tuple, packet.seq, packet.ip_id))
        {
            Happened::Overtaken
        } else {
            Happened::Neither
        }
    }
}

fn score(bed: &Bed) -> Vec<Score> {
    const RIGHT: [(&str, Option<Happened>); 3] = [
        ("reordering", Some(Happened::Overtaken)),
        ("upstream_loss", Some(Happened::Lost)),
        ("ambiguous", None),
    ];
    let record = Record::of(bed);
    let tshark = bed.tshark.as_ref().map(|t| t.by_time());
    let mut confusion: BTreeMap<(&str, Happened), usize> = BTreeMap::new();
    let [mut n, mut right, mut overtaken, mut tshark_right] = [0; 4];
    for (kind, truth) in RIGHT {
        for event in bed.at_monitor.events(kind) {
            let Some(packet) = packet_of(bed, event) else {
                continue;
            };
            let happened = record.happened(packet);
            n += 1;
            right += usize::from(truth == Some(happened));
            overtaken += usize::from(happened == Happened::Overtaken);
            *confusion.entry((kind, happened)).or_default() += 1;
            let theirs = tshark
                .as_ref()
                .and_then(|t| t.get(&(packet.tuple, packet.time_ns)));
            let theirs = theirs.map_or(&[][..], Vec::as_slice);
            tshark_right += usize::from(theirs.iter().any(|t| match happened {
                Happened::Overtaken => t.is_out_of_order,
                Happened::Lost => t.is_retransmission,
                Happened::Neither => false,
            }));
        }
    }
    let mut score =
        Score::new("classified correctly", Unit::Share, n, share(right, n)).at_least(0.95);
    for ((kind, happened), count) in confusion {
        score = score.note(format!("{kind}: {count} {}", happened.name()));
    }
    let show = |part| share(part, n).map(|s| Unit::Share.show(s));
    score.tshark = tshark.and_then(|_| show(tshark_right));
    score.tcptrace = bed.tcptrace.and_then(|_| show(overtaken));
    vec![score]
}

/// The packet that an event is about; several may have passed at the same time.
fn packet_of<'a>(bed: &'a Bed, event: Row<'_>) -> Option<&'a Packet> {
    let tuple = bed.at_monitor.data_tuple(event)?;
    let time_ns = bed.at_monitor.time_ns(event)?;
    let base = bed.monitor.of(tuple).next()?.seq;
    let seq = base.wrapping_add(event.number("seq_bytes")? as u32);
    bed.monitor
        .between(tuple, time_ns, time_ns)
        .find(|p| p.seq == seq)
}
