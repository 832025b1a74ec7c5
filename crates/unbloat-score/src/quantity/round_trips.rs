//! Round trips at the sender against its kernel's own samples.

use super::Quantity;
use crate::bed::Bed;
use crate::packets::Packet;
use crate::score::{Score, Unit};
use crate::statistics::quantile;
use crate::tuple::Tuple;
use std::collections::BTreeMap;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "round trips",
    beds: &["bulk", "lossy", "steps", "rto"],
    definition: "Each sample of downlink data in the server's own capture (table `rtt`, method `ack`) against the \
        sample that the server's kernel took from the same ACK. For its timer the kernel measures from the \
        first segment that the ACK covers (delayed ACKs included, on purpose), for congestion control from the last, as \
        we do; its record has the first kind, so the time between the two segments, taken from the capture, is subtracted. \
        As recorded, without that, is reported beside it. tshark: `tcp.analysis.ack_rtt` of the same ACKs.",
    score,
};

/// An ACK reaches the kernel so soon after it was captured, or is another one.
const DELIVERY_NS: i64 = 20_000_000;

/// The kernel's samples, by data tuple and ACK number.
type Samples = BTreeMap<(Tuple, u32), Vec<(i64, f64)>>;

fn kernel_samples(bed: &Bed) -> Samples {
    let mut samples = Samples::new();
    let rows = bed.truth.kernel.iter();
    for row in rows.filter(|r| r.kind == "rtt" && r.side == "server") {
        let sample = (row.time_ns, f64::from(row.value) / 1e3);
        samples
            .entry((row.tuple(), row.end_seq))
            .or_default()
            .push(sample);
    }
    samples
}

/// One comparison: what we say, what the kernel recorded, and that less the wait of its first segment.
struct Compared {
    ours: f64,
    recorded: f64,
    same_segment: f64,
    tshark: Option<f64>,
}

fn score(bed: &Bed) -> Vec<Score> {
    let kernel = kernel_samples(bed);
    let tshark = bed.tshark_at_server.as_ref().map(|t| t.by_time());
    let mut compared = Vec::new();
    let mut alone = 0;
    let rows = bed.at_server.table("rtt").rows();
    for row in rows.filter(|r| r.text("side") == "down" && r.text("method") == "ack") {
        let at = bed
            .at_server
            .data_tuple(row)
            .zip(bed.at_server.time_ns(row));
        let ack = at.and_then(|(tuple, time)| bed.server.at(tuple.reversed(), time));
        let (Some(ack), Some(ours)) = (ack, row.number("rtt_ms")) else {
            continue;
        };
        let Some(recorded) = nearest(&kernel, ack) else {
            alone += 1;
            continue;
        };
        let tshark = tshark
            .as_ref()
            .and_then(|t| t.get(&(ack.tuple, ack.time_ns)));
        compared.push(Compared {
            ours,
            recorded,
            same_segment: recorded - first_to_last_ms(bed, ack, ours),
            tshark: tshark.and_then(|t| t.iter().find_map(|p| p.ack_rtt_ms)),
        });
    }
    let p95 = |off: &dyn Fn(&Compared) -> Option<f64>| {
        quantile(
            &mut compared.iter().filter_map(off).collect::<Vec<_>>(),
            0.95,
        )
    };
    let n = compared.len();
    let same = p95(&|c| Some((c.ours - c.same_segment).abs()));
    let raw = p95(&|c| Some((c.ours - c.recorded).abs()));
    let show = |ms| Unit::Ms.show(ms);
    let mut from_same = Score::new("95th percentile of differences, same segment", Unit::Ms, n, same)
        .at_most(1.0)
        .note(format!("{alone} of our samples have no row in the kernel's record (handshake, close, or equal to its mean)"));
    from_same.tshark = p95(&|c| Some((c.tshark? - c.same_segment).abs())).map(show);
    let beyond = compared
        .iter()
        .filter(|c| (c.ours - c.recorded).abs() > 1.0);
    let (far, larger) = beyond.fold((0, 0), |(far, larger), c| {
        (far + 1, larger + usize::from(c.recorded > c.ours))
    });
    let mut as_recorded = Score::new(
        "95th percentile of differences, as recorded",
        Unit::Ms,
        n,
        raw,
    )
    .note(format!(
        "of {far} beyond 1 ms the kernel's is larger in {larger}"
    ));
    as_recorded.tshark = p95(&|c| Some((c.tshark? - c.recorded).abs())).map(show);
    vec![from_same, as_recorded]
}

/// The kernel's sample from this ACK.
fn nearest(kernel: &Samples, ack: &Packet) -> Option<f64> {
    let candidates = kernel.get(&(ack.tuple.reversed(), ack.ack))?;
    let delay = |&&(time, _): &&(i64, f64)| (time - ack.time_ns).abs();
    let nearest = candidates.iter().min_by_key(delay)?;
    (delay(&nearest) < DELIVERY_NS).then_some(nearest.1)
}

/// From the first to the last segment that the ACK newly covers, as they passed the capture; the last
/// one passed `rtt_ms` before the ACK.
fn first_to_last_ms(bed: &Bed, ack: &Packet, rtt_ms: f64) -> f64 {
    let last_ns = ack.time_ns - (rtt_ms * 1e6) as i64;
    let longest_ns = 10_000_000_000;
    let acks = bed
        .server
        .between(ack.tuple, last_ns - longest_ns, ack.time_ns - 1);
    // A SYN's ACK number is no number of this space, so only lower ones are asked.
    let behind = acks
        .map(|a| ack.ack.wrapping_sub(a.ack))
        .filter(|&b| (b as i32) > 0);
    let Some(behind) = behind.min() else {
        return 0.0;
    };
    let before = ack.ack.wrapping_sub(behind);
    let mut data = bed
        .server
        .between(ack.tuple.reversed(), last_ns - longest_ns, last_ns);
    let first = data.find(|p| before.wrapping_sub(p.seq) < p.payload_bytes);
    first.map_or(0.0, |first| (last_ns - first.time_ns) as f64 / 1e6)
}
