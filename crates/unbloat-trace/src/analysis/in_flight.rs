//! Bytes in flight: sent and not yet acknowledged (§4.3, Fig. 10 to 13).
//!
//! At each data packet, highest byte sent less highest byte acknowledged, both as seen at the
//! monitor. At the sender's vantage that is the sender's own figure (`snd_nxt - snd_una`); further
//! down the path it lacks what is still on the way to the monitor. SACKed bytes count, as in the
//! paper; tshark leaves them out.

use super::rtt::bin_number;
use super::{Analysis, Context, Findings, Flow, per_side};
use crate::output::order;
use crate::tcp::{Segment, Side};
use unbloat_stats::LogHistogram;
use unbloat_table::{Column, RowWriter};
use unbloat_units::{Bytes, Seq, Time};

pub(crate) struct InFlight;

#[derive(Default)]
pub(crate) struct Light {
    sides: [Option<Box<Series>>; 2],
}

#[derive(Default)]
struct Series {
    all: LogHistogram,
    max: u32,
    /// Right edge of the receive window as last granted.
    window_edge: Option<Seq>,
    bin: Bin,
}

#[derive(Clone, Copy, Default)]
struct Bin {
    number: i64,
    last: Time,
    in_flight: Option<u32>,
    payload: u64,
    samples: u32,
}

impl Series {
    fn turn(&mut self, side: Side, now: Time, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let number = bin_number(now, self.bin.number, cx);
        if number != self.bin.number {
            self.write(side, flow, cx);
            self.bin.number = number;
        }
        self.bin.last = now;
        self.bin.samples += 1;
    }

    fn write(&mut self, side: Side, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let bin = std::mem::take(&mut self.bin);
        if bin.samples == 0 || cx.summary_only {
            return;
        }
        let half = flow.half(side);
        let position = |seq| flow.position(side, seq);
        let time_ns = cx.since_origin(bin.last);
        let mut row = cx.tables.in_flight.row(order(cx.number, flow.core.flow_id));
        row.u64(flow.core.flow_id);
        row.text(side.name());
        row.i64(time_ns);
        row.u64(half.span().map(|_| position(half.high())));
        row.u64(half.acked().map(position));
        row.u64(self.window_edge.map(position));
        row.u64(bin.in_flight.map(u64::from));
        row.u64(bin.payload);
        row.u64(u64::from(bin.samples));
    }
}

/// Share of the samples within 5 % of the 75th percentile.
fn plateau_share(all: &LogHistogram) -> Option<f64> {
    let level = all.quantile(0.75)?;
    Some(all.share_at_most(1.05 * level)? - all.share_at_most(0.95 * level)?)
}

impl Analysis for InFlight {
    type Light = Light;
    type Deep = ();

    fn columns(columns: &mut Vec<Column>) {
        per_side!(columns,
            f64 "in_flight_" "_p50_bytes" "median over data packets, within 0.8 %",
            f64 "in_flight_" "_p95_bytes" "95th percentile over data packets, within 0.8 %",
            u64 "in_flight_" "_max_bytes" "the most",
        );
    }

    #[inline]
    fn on_segment(
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        if seg.header.payload_len > 0 {
            let series = light.sides[seg.side.index()].get_or_insert_default();
            series.turn(seg.side, seg.now, flow, cx);
            series.bin.payload += u64::from(seg.header.payload_len);
            if let Some(in_flight) = seg.in_flight {
                series.all.record(f64::from(in_flight));
                series.max = series.max.max(in_flight);
                series.bin.in_flight = series.bin.in_flight.max(Some(in_flight));
            }
        }
        if let Some(series) = &mut light.sides[seg.side.other().index()] {
            if seg.acked > 0 {
                series.turn(seg.side.other(), seg.now, flow, cx);
            }
            if let Some(window) = seg.window {
                series.window_edge = Some(seg.header.ack + window);
            }
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
        for side in Side::BOTH {
            let mut series = light.sides[side.index()].take();
            if let Some(series) = &mut series {
                series.write(side, flow, cx);
            }
            let known = series.as_ref().filter(|s| !s.all.is_empty());
            findings.sides[side.index()].max_in_flight =
                known.map(|s| Bytes::new(u64::from(s.max)));
            findings.sides[side.index()].plateau_share = known.and_then(|s| plateau_share(&s.all));
            row.f64(known.and_then(|s| s.all.quantile(0.50)));
            row.f64(known.and_then(|s| s.all.quantile(0.95)));
            row.u64(known.map(|s| u64::from(s.max)));
        }
    }
}
