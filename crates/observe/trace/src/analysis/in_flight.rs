//! Bytes in flight: sent and not yet acknowledged (§4.3, Fig. 10 to 13).
//!
//! At each data packet, highest byte sent less highest byte acknowledged, both as seen at the
//! monitor. At the sender's vantage that is the sender's own figure (`snd_nxt - snd_una`); further
//! down the path it lacks what is still on the way to the monitor. SACKed bytes count, as in the
//! paper; tshark leaves them out. Where no ACK of the other end was captured, nothing is known of it.

use super::bin::{BinEnd, write_held};
use super::{Analysis, Context, Findings, Flow};
use crate::tables::InFlightRow;
use crate::tcp::{Kind, Segment};
use unbloat_stats::LogHistogram;
use unbloat_table::{RowWriter, SideColumns, side_columns};
use unbloat_units::{Both, Bytes, Direction, Seq, Time};

pub(crate) struct InFlight;

#[derive(Clone, Default)]
pub(crate) struct Light {
    max: Both<Option<u32>>,
    /// For the `in_flight` table, where one is written.
    series: Option<Box<Both<Option<Series>>>>,
}

/// Of large flows, the distribution over data packets.
#[derive(Clone, Default)]
pub(crate) struct Deep {
    sides: Both<LogHistogram>,
}

#[derive(Clone, Default)]
struct Series {
    /// Right edge of the receive window as last granted.
    window_edge: Option<Seq>,
    end: BinEnd,
    bin: Bin,
    held: Vec<InFlightRow>,
}

#[derive(Clone, Copy, Default)]
struct Bin {
    last: Time,
    /// Highest byte sent and acknowledged once the last packet had passed: a bin is written when
    /// the next one begins, and then they have moved on.
    high: Option<Seq>,
    acked: Option<Seq>,
    in_flight: Option<u32>,
    payload: u64,
    samples: u32,
}

impl Series {
    #[inline]
    fn turn(&mut self, side: Direction, now: Time, flow: &Flow<'_>, cx: &mut Context<'_>) {
        if self.end.is_over(now, cx) {
            self.write(side, false, flow, cx);
        }
        let half = flow.half(side);
        self.bin.last = now;
        self.bin.high = half.span().map(|_| half.high());
        self.bin.acked = half.acked();
        self.bin.samples += 1;
    }

    #[inline(never)]
    fn write(&mut self, side: Direction, ends: bool, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let bin = std::mem::take(&mut self.bin);
        let position = |seq| flow.position(side, seq);
        let row = || InFlightRow {
            flow_id: flow.core.flow_id,
            side,
            time_ns: cx.since_origin(bin.last),
            seq_bytes: bin.high.and_then(position),
            ack_bytes: bin.acked.and_then(position),
            window_edge_bytes: self.window_edge.and_then(position),
            in_flight_bytes: bin.in_flight.map(u64::from),
            payload_bytes: bin.payload,
            samples: bin.samples,
        };
        self.held.extend((bin.samples > 0).then(row));
        write_held(&mut self.held, ends, flow, cx, |t| &mut t.in_flight);
    }
}

/// Share of the samples within 5 % of the 75th percentile.
fn plateau_share(all: &LogHistogram) -> Option<f64> {
    let level = all.quantile(0.75)?;
    Some(all.share_at_most(1.05 * level)? - all.share_at_most(0.95 * level)?)
}

side_columns! {
    pub struct InFlightColumns {
        in_flight_p50_bytes ["in_flight_" "_p50_bytes"]: Option<f64> = "median over data packets of a flow beyond deep_after, within 0.8 %",
        in_flight_p95_bytes ["in_flight_" "_p95_bytes"]: Option<f64> = "95th percentile of it, within 0.8 %",
        in_flight_max_bytes ["in_flight_" "_max_bytes"]: Option<u32> = "the most, of any flow",
    }
}

impl Analysis for InFlight {
    type Light = Light;
    type Deep = Deep;
    type Columns = Both<InFlightColumns>;

    #[inline]
    fn on_packet(
        kind: Kind,
        light: &mut Light,
        deep: Option<&mut Deep>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        if kind == Kind::Data || seg.header.payload_len > 0 {
            let side = seg.side;
            light.max[side] = light.max[side].max(seg.in_flight);
            if let (Some(deep), Some(in_flight)) = (deep, seg.in_flight) {
                deep.sides[side].record(f64::from(in_flight));
            }
        }
        if !cx.summary_only {
            light.follow(seg, flow, cx);
        }
    }

    fn finish(
        light: &mut Light,
        deep: Option<&mut Deep>,
        flow: &Flow<'_>,
        findings: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        for side in Direction::BOTH {
            if let Some(series) = light.series_of(side) {
                series.write(side, true, flow, cx);
            }
            let max = light.max[side];
            let all = deep.as_ref().map(|d| &d.sides[side]);
            let quantiles = all.and_then(|a| a.quantiles([0.50, 0.95]));
            let finding = &mut findings.sides[side];
            finding.max_in_flight = max.map(|bytes| Bytes::new(u64::from(bytes)));
            finding.plateau_share = all.and_then(plateau_share);
            let columns = InFlightColumns {
                in_flight_p50_bytes: quantiles.map(|[p50, _]| p50),
                in_flight_p95_bytes: quantiles.map(|[_, p95]| p95),
                in_flight_max_bytes: max,
            };
            columns.write(row);
        }
    }
}

impl Light {
    fn series_of(&mut self, side: Direction) -> Option<&mut Series> {
        self.series.as_mut()?[side].as_mut()
    }

    // Always: every packet comes here, and a call costs a fifth of what is done.
    #[inline(always)]
    fn follow(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
        if seg.header.payload_len > 0 {
            let both = self.series.get_or_insert_default();
            let series = both[seg.side].get_or_insert_default();
            series.turn(seg.side, seg.now, flow, cx);
            series.bin.payload += u64::from(seg.header.payload_len);
            series.bin.in_flight = series.bin.in_flight.max(seg.in_flight);
        }
        if let Some(series) = self.series_of(seg.side.reverse()) {
            if seg.acked > 0 {
                series.turn(seg.side.reverse(), seg.now, flow, cx);
            }
            if let Some(window) = seg.window {
                series.window_edge = Some(seg.header.ack + window);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Script;
    use unbloat_units::Delta;

    #[test]
    fn a_row_tells_of_its_own_time_and_not_of_the_packet_after_it() {
        let results = Script::opened()
            .with(|params| params.bin = Delta::ZERO)
            .at(100.0, "< 1+1000 ack 1")
            .at(101.0, "< 1001+500 ack 1")
            .at(150.0, "> 1+0 ack 1001")
            .at(900.0, "< 1501+1000 ack 1")
            .run();
        let column = |name| results.values("in_flight", name);
        assert_eq!(column("time_ns"), [100e6, 101e6, 150e6, 900e6].map(Some));
        assert_eq!(
            column("seq_bytes"),
            [1001.0, 1501.0, 1501.0, 2501.0].map(Some)
        );
        assert_eq!(column("ack_bytes"), [1.0, 1.0, 1001.0, 1001.0].map(Some));
        assert_eq!(
            column("in_flight_bytes"),
            [Some(1000.0), Some(1500.0), None, Some(1500.0)]
        );
    }

    #[test]
    fn without_the_other_direction_nothing_is_known_of_bytes_in_flight() {
        let mut data_only = Script::default().at(20.0, "< syn 0+0 ack 1 mss 1460 ws 7 sackok");
        let mut acks_only = Script::default().at(0.0, "> syn 0+0 mss 1460 ws 7 sackok");
        for i in 0..100 {
            data_only.packet(f64::from(30 + i), &format!("< {}+1000 ack 1", 1 + i * 1000));
            acks_only.packet(f64::from(80 + i), &format!("> 1+0 ack {}", 1001 + i * 1000));
        }
        let acks_only = acks_only.at(500.0, "> 1+100 ack 100001");
        for results in [data_only.run(), acks_only.run()] {
            for side in ["down", "up"] {
                for figure in ["p50_bytes", "p95_bytes", "max_bytes", "max_bdp"] {
                    let column = format!("in_flight_{side}_{figure}");
                    assert_eq!(results.flow(&column), None, "{column}");
                }
            }
            for column in ["in_flight_bytes", "ack_bytes"] {
                let known = results.values("in_flight", column);
                assert!(known.iter().all(Option::is_none), "{column}: {known:?}");
            }
        }
    }

    #[test]
    fn bytes_before_the_first_seen_have_no_position() {
        let results = Script::default()
            .with(|params| params.bin = Delta::ZERO)
            .at(100.0, "< 5001+1000 ack 1")
            .at(101.0, "< 6001+1000 ack 1")
            .at(102.0, "> 1+0 ack 3001")
            .at(103.0, "< 7001+500 ack 1")
            .at(110.0, "> 1+0 ack 4001")
            .at(150.0, "> 1+0 ack 6001")
            .at(151.0, "< 4501+1000 ack 1")
            .run();
        let acked = results.values("in_flight", "ack_bytes");
        assert_eq!(acked.last(), Some(&Some(1000.0)));
        assert!(acked.iter().flatten().all(|&at| at <= 2000.0), "{acked:?}");
        let events = results.values("events", "seq_bytes");
        assert!(
            !events.is_empty() && events.iter().all(Option::is_none),
            "{events:?}"
        );
        // What was sent before the capture and is not acknowledged is in flight all the same.
        assert_eq!(results.flow("in_flight_down_max_bytes"), Some(4500.0));
    }
}
