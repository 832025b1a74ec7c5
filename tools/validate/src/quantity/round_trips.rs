//! Round trips at the sender against its kernel's own samples.

use super::Quantity;
use crate::bed::Bed;
use crate::packets::Packet;
use crate::score::{Score, Unit};
use crate::tuple::Tuple;
use std::collections::BTreeMap;
use unbloat_stats::quantile;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "round trips",
    beds: &["bulk", "lossy", "steps", "rto"],
    definition: "Each sample of downlink data in the server's own capture (table `rtt`, method `ack`), compared with the sample that \
        the server's kernel took from the same ACK for its timer (srtt). The kernel measures from the oldest segment that the \
        ACK newly covers, as `rtt_from_oldest_ms` does. The second row shows `rtt_ms` and tshark's `tcp.analysis.ack_rtt`, \
        which measure from the newest segment and so exclude the receiver's wait for a second segment.",
    score,
};

/// An ACK reaches the kernel so soon after it was captured, or is another one.
const DELIVERY_NS: i64 = 20_000_000;

/// The kernel's samples, by data tuple and ACK number.
type Samples = BTreeMap<(Tuple, u32), Vec<(i64, f64)>>;

fn kernel_samples(bed: &Bed) -> Samples {
    let mut samples = Samples::new();
    let rows = bed.truth.kernel.iter();
    for row in rows.filter(|r| r.kind == "rtt") {
        let sample = (row.time_ns, f64::from(row.value) / 1e3);
        samples
            .entry((row.tuple(), row.end_seq))
            .or_default()
            .push(sample);
    }
    samples
}

/// One comparison: the kernel's sample, ours of the same kind, and ours and tshark's from the newest
/// segment.
struct Compared {
    kernel: f64,
    from_oldest: f64,
    from_newest: f64,
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
        let ours = row.number("rtt_ms").zip(row.number("rtt_from_oldest_ms"));
        let (Some(ack), Some((from_newest, from_oldest))) = (ack, ours) else {
            continue;
        };
        let Some(kernel) = nearest(&kernel, ack) else {
            alone += 1;
            continue;
        };
        let tshark = tshark
            .as_ref()
            .and_then(|t| t.get(&(ack.tuple, ack.time_ns)));
        compared.push(Compared {
            kernel,
            from_oldest,
            from_newest,
            tshark: tshark.and_then(|t| t.iter().find_map(|p| p.ack_rtt_ms)),
        });
    }
    let p95 = |of: &dyn Fn(&Compared) -> Option<f64>| {
        let off = |c: &Compared| Some((of(c)? - c.kernel).abs());
        let mut all: Vec<f64> = compared.iter().filter_map(off).collect();
        quantile(&mut all, 0.95)
    };
    let n = compared.len();
    let untold = kernel
        .values()
        .map(Vec::len)
        .sum::<usize>()
        .saturating_sub(n);
    let far = compared
        .iter()
        .filter(|c| (c.from_oldest - c.kernel).abs() > 1.0)
        .count();
    let same = Score::new(
        "95th percentile of differences",
        Unit::Ms,
        n,
        p95(&|c| Some(c.from_oldest)),
    )
    .at_most(1.0)
    .note(format!("{far} differ by more than 1 ms"))
    .note(format!(
        "{alone} samples of the analyzer have no row in the kernel's record (handshake, close, or equal to its mean)"
    ))
    .note(format!(
        "{untold} samples of the kernel have no counterpart: Linux also takes samples from SACK blocks and echoed timestamps"
    ));
    let mut newest = Score::new(
        "the same of rtt_ms, from the newest segment",
        Unit::Ms,
        n,
        p95(&|c| Some(c.from_newest)),
    );
    newest.tshark = p95(&|c| c.tshark).map(|ms| Unit::Ms.show(ms));
    vec![same, newest]
}

/// The kernel's sample from this ACK.
fn nearest(kernel: &Samples, ack: &Packet) -> Option<f64> {
    let candidates = kernel.get(&(ack.tuple.reversed(), ack.ack))?;
    let delay = |&&(time, _): &&(i64, f64)| (time - ack.time_ns).abs();
    let nearest = candidates.iter().min_by_key(delay)?;
    (delay(&nearest) < DELIVERY_NS).then_some(nearest.1)
}
