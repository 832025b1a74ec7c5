//! Round-trip times between the monitor and each end, and how far they rise above their floor (§4.3).
//!
//! A sample is the time from a data packet to the ACK that ends at its last byte, if no byte that
//! the ACK covers was seen twice or late (Karn's rule). Downlink data gives the downstream RTT,
//! uplink data the upstream RTT. The added delay is a sample less the flow's own smallest one: what
//! queues, scheduling and delayed ACKs put on top of the path.
//!
//! # Where we differ
//! RFC 6298 and Linux's timer measure from the first segment that an ACK newly covers
//! (`tcp_clean_rtx_queue`: `seq_rtt` from `first_ackt`), so that the receiver's wait for a second
//! segment counts; tshark, tcptrace and Linux's congestion controls measure from the last. The
//! columns of `flows` are of the second kind, which says more of the path; the `rtt` table has both.

use super::bin::{BinEnd, write_held};
use super::{Analysis, Context, Findings, Flow, Sees, ms};
use crate::tables::RttRow;
use crate::tcp::{Kind, RttSample, Segment};
use unbloat_stats::LogHistogram;
use unbloat_table::{RowWriter, SideColumns, side_columns};
use unbloat_units::{Both, Delta, Direction, Time};

pub(crate) struct Rtt;

#[derive(Clone, Default)]
pub(crate) struct Light {
    /// All samples of each side, in microseconds.
    sides: Both<LogHistogram>,
    /// For the `rtt` table, where one is written: the bins that are not over yet.
    bins: Option<Box<Both<Bin>>>,
}

#[derive(Clone, Default)]
pub(super) struct Bin {
    held: Vec<RttRow<'static>>,
    end: BinEnd,
    last: Time,
    sum: Delta,
    sum_from_oldest: Option<Delta>,
    min: Delta,
    max: Delta,
    in_flight: u64,
    samples: u32,
}

impl Bin {
    /// Adds a sample taken at `now`; samples of an earlier bin are written first.
    #[inline]
    pub(super) fn add(
        &mut self,
        method: &'static str,
        sample: RttSample,
        now: Time,
        side: Direction,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        if cx.summary_only {
            return;
        }
        if self.end.is_over(now, cx) {
            self.write(method, side, false, flow, cx);
        }
        self.last = now;
        self.sum += sample.rtt;
        self.sum_from_oldest = sample
            .from_oldest
            .map(|rtt| self.sum_from_oldest.unwrap_or_default() + rtt);
        self.min = if self.samples == 0 {
            sample.rtt
        } else {
            self.min.min(sample.rtt)
        };
        self.max = self.max.max(sample.rtt);
        self.in_flight += u64::from(sample.in_flight);
        self.samples += 1;
    }

    pub(super) fn write(
        &mut self,
        method: &'static str,
        side: Direction,
        ends: bool,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        let bin = std::mem::take(self);
        (self.end, self.held) = (bin.end, bin.held);
        let n = f64::from(bin.samples);
        let row = || RttRow {
            flow_id: flow.core.flow_id,
            side,
            method,
            time_ns: cx.since_origin(bin.last),
            rtt_ms: bin.sum.as_ms() / n,
            rtt_min_ms: bin.min.as_ms(),
            rtt_max_ms: bin.max.as_ms(),
            rtt_from_oldest_ms: bin.sum_from_oldest.map(|sum| sum.as_ms() / n),
            in_flight_bytes: bin.in_flight as f64 / n,
            samples: bin.samples,
        };
        self.held.extend((bin.samples > 0).then(row));
        write_held(&mut self.held, ends, flow, cx, |tables| &mut tables.rtt);
    }
}

side_columns! {
    pub struct RttColumns {
        rtt_samples ["rtt_" "_samples"]: Option<u64> = "round trips measured",
        rtt_min_ms ["rtt_" "_min_ms"]: Option<f64> = "the smallest: the floor",
        rtt_p50_ms ["rtt_" "_p50_ms"]: Option<f64> = "median, within 0.8 %",
        rtt_p95_ms ["rtt_" "_p95_ms"]: Option<f64> = "95th percentile, within 0.8 %",
        rtt_p99_ms ["rtt_" "_p99_ms"]: Option<f64> = "99th percentile, within 0.8 %",
        rtt_max_ms ["rtt_" "_max_ms"]: Option<f64> = "the largest",
        added_p50_ms ["added_" "_p50_ms"]: Option<f64> = "median delay over the floor",
        added_p95_ms ["added_" "_p95_ms"]: Option<f64> = "95th percentile of it",
        added_p99_ms ["added_" "_p99_ms"]: Option<f64> = "99th percentile of it",
    }
}

impl Analysis for Rtt {
    type Light = Light;
    type Deep = ();
    type Columns = Both<RttColumns>;
    const SEES: Sees = Sees::NOT_DATA;

    #[inline]
    fn on_packet(
        _: Kind,
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        let Some(sample) = seg.rtt else { return };
        let side = seg.side.reverse();
        light.sides[side].record(sample.rtt.as_us() as f64);
        if !cx.summary_only {
            let bins = light.bins.get_or_insert_default();
            bins[side].add("ack", sample, seg.now, side, flow, cx);
        }
    }

    fn finish(
        light: &mut Light,
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        findings: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        for side in Direction::BOTH {
            let all = &light.sides[side];
            if let Some(bins) = &mut light.bins {
                bins[side].write("ack", side, true, flow, cx);
            }
            if side == Direction::Down {
                cx.user.add_rtts(all);
            }
            let micros = |us: f64| Delta::us(us.round() as i64);
            let floor = all.min().map(micros);
            let quantiles = all.quantiles([0.50, 0.95, 0.99]);
            let quantiles = quantiles.map_or([None; 3], |qs| qs.map(|q| Some(micros(q))));
            let added = quantiles.map(|q| q.zip(floor).map(|(q, floor)| q - floor));
            let finding = &mut findings.sides[side];
            finding.rtt_floor = floor;
            finding.rtt_samples = all.count();
            finding.added_p95 = added[1];

            let columns = RttColumns {
                rtt_samples: flow.is_tcp().then_some(finding.rtt_samples),
                rtt_min_ms: ms(floor),
                rtt_p50_ms: ms(quantiles[0]),
                rtt_p95_ms: ms(quantiles[1]),
                rtt_p99_ms: ms(quantiles[2]),
                rtt_max_ms: ms(all.max().map(micros)),
                added_p50_ms: ms(added[0]),
                added_p95_ms: ms(added[1]),
                added_p99_ms: ms(added[2]),
            };
            columns.write(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Script;
    use unbloat_units::Delta;

    #[test]
    fn an_ack_of_two_segments_is_measured_from_either() {
        let results = Script::opened()
            .with(|params| params.bin = Delta::ZERO)
            .at(100.0, "< 1+1000 ack 1")
            .at(104.0, "< 1001+1000 ack 1")
            .at(150.0, "> 1+0 ack 2001")
            .run();
        let is_told = |name, ms| results.values("rtt", name).contains(&Some(ms));
        assert!(is_told("rtt_ms", 46.0) && is_told("rtt_from_oldest_ms", 50.0));
    }

    #[test]
    fn a_copy_of_what_is_acknowledged_leaves_the_next_sample_alone() {
        let results = Script::opened()
            .at(100.0, "< 1+1000 ack 1")
            .at(130.0, "> 1+0 ack 1001")
            .at(200.0, "< 1001+1000 ack 1")
            .at(201.0, "< 1+1000 ack 1")
            .at(240.0, "> 1+0 ack 2001")
            .run();
        assert_eq!(results.flow("retransmitted_down_packets"), Some(1.0));
        // The SYN and both segments.
        assert_eq!(results.flow("rtt_down_samples"), Some(3.0));
        assert_eq!(results.flow("rtt_down_max_ms"), Some(50.0));
    }
}
