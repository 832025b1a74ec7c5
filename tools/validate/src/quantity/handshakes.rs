//! The handshake split at the monitor against times that tshark printed.

use super::Quantity;
use crate::bed::Bed;
use crate::score::{Score, Unit};
use crate::tools::Tshark;
use crate::tuple::Tuple;
use std::collections::BTreeMap;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "handshake split",
    beds: &["promotion", "lossy", "mix"],
    definition: "`handshake_up_ms` and `handshake_down_ms`, compared with t2-t1 and t3-t2 of the first SYN, SYN-ACK and ACK from the \
        timestamps that tshark prints, in all handshakes without a repeated SYN or SYN-ACK. tshark itself reports only their \
        sum, tcptrace only averages.",
    score,
};

const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

#[derive(Default)]
struct Handshake {
    syns: Vec<i64>,
    syn_acks: Vec<i64>,
    ack: Option<i64>,
}

impl Handshake {
    /// t2-t1 and t3-t2 in nanoseconds.
    fn split(&self) -> Option<[i64; 2]> {
        match (&self.syns[..], &self.syn_acks[..], self.ack) {
            (&[t1], &[t2], Some(t3)) => Some([t2 - t1, t3 - t2]),
            _ => None,
        }
    }
}

fn handshakes(tshark: &Tshark) -> BTreeMap<Tuple, Handshake> {
    let mut handshakes: BTreeMap<Tuple, Handshake> = BTreeMap::new();
    for packet in &tshark.all {
        let flags = packet.flags & (SYN | ACK | RST);
        match flags {
            SYN => handshakes
                .entry(packet.tuple)
                .or_default()
                .syns
                .push(packet.time_ns),
            _ if flags == SYN | ACK => {
                let handshake = handshakes.entry(packet.tuple.reversed()).or_default();
                handshake.syn_acks.push(packet.time_ns);
            }
            ACK => {
                if let Some(handshake) = handshakes.get_mut(&packet.tuple)
                    && !handshake.syn_acks.is_empty()
                {
                    handshake.ack.get_or_insert(packet.time_ns);
                }
            }
            _ => {}
        }
    }
    handshakes
}

fn score(bed: &Bed) -> Vec<Score> {
    let Some(tshark) = &bed.tshark else {
        return Vec::new();
    };
    let truth = handshakes(tshark);
    let mut n = 0;
    let mut worst_us = None;
    let [mut unknown, mut repeated] = [0; 2];
    for flow in bed.at_monitor.table("flows").rows() {
        let Some(up) = bed.at_monitor.data_tuple(flow).map(Tuple::reversed) else {
            continue;
        };
        let ours = flow
            .number("handshake_up_ms")
            .zip(flow.number("handshake_down_ms"));
        match (truth.get(&up).and_then(Handshake::split), ours) {
            (Some([up_ns, down_ns]), Some((up_ms, down_ms))) => {
                let off = |ns: i64, ms: f64| (ns as f64 / 1e3 - ms * 1e3).abs();
                let off = off(up_ns, up_ms).max(off(down_ns, down_ms));
                n += 1;
                worst_us = Some(off.max(worst_us.unwrap_or(0.0)));
            }
            (Some(_), None) => unknown += 1,
            (None, Some(_)) => repeated += 1,
            (None, None) => {}
        }
    }
    let score = Score::new("largest difference", Unit::Us, n, worst_us)
        .at_most(1.0)
        .note(format!(
            "{unknown} clean handshakes without values of the analyzer, {repeated} values from handshakes that are not clean"
        ));
    vec![score]
}
