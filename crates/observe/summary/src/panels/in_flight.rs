//! Bytes in flight of large flows (§4.3, Fig. 13).
//!
//! Whether a flow is large is known only when it has sent 1 MB, and rows of many flows come mixed. So
//! a sample of rows is kept until the end: a row is kept when the hash of (flow, 10 ms of time) is below
//! a limit, and the limit is halved whenever more than [`KEPT`] rows are kept. What is kept does not
//! depend on the order of rows.

use crate::SummaryParams;
use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use std::collections::BTreeMap;
use unbloat_stats::LogHistogram;
use unbloat_table::Row;
use unbloat_trace::tables::InFlightRow;

const KEPT: usize = 1 << 18;
const BIN_NS: i64 = 10_000_000;

/// The number of the flow's first packet, and the bin in time.
type Moment = (u64, i64);

pub(crate) struct InFlight {
    heavy_bytes: u64,
    halvings: u32,
    kept: BTreeMap<Moment, Bytes>,
}

#[derive(Clone, Copy, Default)]
struct Bytes {
    in_flight: u64,
    sent: u64,
}

impl InFlight {
    pub(crate) fn new(params: &SummaryParams) -> InFlight {
        InFlight {
            heavy_bytes: params.heavy_down.as_u64(),
            halvings: 0,
            kept: BTreeMap::new(),
        }
    }

    fn keep(&mut self, moment: Moment, bytes: Bytes) {
        if !is_kept(moment, self.halvings) {
            return;
        }
        let kept = self.kept.entry(moment).or_default();
        kept.in_flight = kept.in_flight.max(bytes.in_flight);
        kept.sent = kept.sent.max(bytes.sent);
        while self.kept.len() > KEPT {
            self.halvings += 1;
            let halvings = self.halvings;
            self.kept.retain(|&m, _| is_kept(m, halvings));
        }
    }

    fn of_large_flows(&self) -> LogHistogram {
        let mut sent: BTreeMap<u64, u64> = BTreeMap::new();
        for (&(flow, _), bytes) in &self.kept {
            let most = sent.entry(flow).or_default();
            *most = bytes.sent.max(*most);
        }
        let mut histogram = LogHistogram::new();
        for (&(flow, _), bytes) in &self.kept {
            if sent[&flow] > self.heavy_bytes {
                histogram.record(bytes.in_flight as f64);
            }
        }
        histogram
    }
}

impl Panel for InFlight {
    fn table(&self) -> &'static str {
        InFlightRow::NAME
    }

    fn add(&mut self, view: &View) {
        let (flow, side, time) = (
            view.column(InFlightRow::flow_id),
            view.column(InFlightRow::side),
            view.column(InFlightRow::time_ns),
        );
        let (in_flight, sent) = (
            view.column(InFlightRow::in_flight_bytes),
            view.column(InFlightRow::seq_bytes),
        );
        for row in view.rows().filter(|&row| side.is(row, "down")) {
            if let (Some(flow), Some(time)) = (flow.u64(row), time.i64(row)) {
                let bytes = Bytes {
                    in_flight: in_flight.u64(row).unwrap_or(0),
                    sent: sent.u64(row).unwrap_or(0),
                };
                self.keep((flow, time.div_euclid(BIN_NS)), bytes);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let large = self.of_large_flows();
        let doc = "Unacknowledged downlink bytes at the capture point, the most in each bin, of flows that sent more than 1 MB.";
        let above = large.share_at_most(200_000.0).map(|s| 100.0 * (1.0 - s));
        let mut group = found.group("Bytes in flight (Fig. 10, 13)");
        group.number(
            "bins above 200 KB",
            above,
            ("%", Some(10.0)),
            large.count(),
            doc,
        );
        group.quantile("median", (&large, 0.5), ("B", None), doc);
        group.quantile("p99", (&large, 0.99), ("B", None), doc);
        found.cdf("13", "bytes in flight", &large);
        found.curve("13", "paper: bytes in flight", vec![(200_000.0, 0.9)]);
        if self.halvings > 0 {
            let one_in = 1u64 << self.halvings;
            found.note(format!("Figure 13 is drawn from one in {one_in} bins, chosen by a hash of flow and time; a flow just above 1 MB may be missing from it."));
        }
    }
}

fn is_kept((flow, bin): Moment, halvings: u32) -> bool {
    mix(flow ^ mix(bin as u64)).leading_zeros() >= halvings
}

/// The finaliser of SplitMix64.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_halving_keeps_half_of_what_was_kept() {
        let moments: Vec<Moment> = (0..64)
            .flat_map(|f| (0..512).map(move |b| (f, b)))
            .collect();
        let kept = |halvings| moments.iter().filter(|&&m| is_kept(m, halvings)).count() as f64;
        assert_eq!(kept(0) as usize, moments.len());
        for halvings in 1..6 {
            let want = moments.len() as f64 / f64::from(1 << halvings);
            assert!((kept(halvings) / want - 1.0).abs() < 0.15, "{halvings}");
            assert!(
                moments
                    .iter()
                    .all(|&m| is_kept(m, halvings) <= is_kept(m, halvings - 1))
            );
        }
    }
}
