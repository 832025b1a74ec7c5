//! Evidence of standing queues, for the verdict: see [`crate::standing`].

use super::{Analysis, Context, Findings, Flow};
use crate::output::order;
use crate::standing::{Carrying, Evidence, Facts, Recorder, WINDOW, evidence};
use crate::tcp::{Segment, Side};
use unbloat_table::{Column, RowWriter};
use unbloat_units::Delta;

pub(crate) struct Standing;

/// Of flows that said more than a SYN.
#[derive(Clone, Default)]
pub(crate) struct Light {
    recorder: Option<Box<Recorder>>,
}

impl Analysis for Standing {
    type Light = Light;
    type Deep = ();

    fn columns(_: &mut Vec<Column>) {}

    #[inline]
    fn on_segment(
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        let flags = seg.header.tcp_flags;
        if light.recorder.is_none() && (flags.rst() || flags.syn() && !flags.ack()) {
            return;
        }
        let recorder = light.recorder.get_or_insert_default();
        if recorder.on_packet(seg, flow, cx.origin, cx.user.load()) {
            write(recorder, false, flow, cx);
        }
    }

    fn finish(
        light: &mut Light,
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        _: &mut Findings,
        cx: &mut Context<'_>,
        _: &mut RowWriter<'_>,
    ) {
        if let Some(recorder) = &mut light.recorder {
            write(recorder, true, flow, cx);
            recorder.leave(cx.user.load());
        }
    }
}

/// Writes what the recorder's windows say, and takes them.
#[inline(never)]
fn write(recorder: &mut Recorder, is_over: bool, flow: &Flow<'_>, cx: &mut Context<'_>) {
    let floors = Side::BOTH.map(|side| flow.half(side).rtt_floor());
    let facts = Facts {
        rtt_floor: floors.into_iter().flatten().reduce(|a, b| a + b),
        is_begin_seen: Side::BOTH.iter().any(|&s| flow.half(s).is_syn_seen()),
        is_over,
    };
    for found in evidence(recorder, &facts, cx.user.load()) {
        row(&found, &facts, flow, cx);
    }
}

fn row(found: &Evidence, facts: &Facts, flow: &Flow<'_>, cx: &mut Context<'_>) {
    let start = |window: u32| i64::from(window) * WINDOW.as_ns();
    let end = |window: u32| start(window) + WINDOW.as_ns();
    let core = flow.core;
    let mut row = cx.tables.standing.row(order(cx.number, core.flow_id));
    row.u64(core.flow_id);
    row.text(core.client.to_string().as_str());
    row.u64(u64::from(core.client_port));
    row.text(core.server.to_string().as_str());
    row.u64(u64::from(core.server_port));
    row.text(found.series.side().name());
    row.text(found.series.name());
    row.i64(start(found.span.0));
    row.i64(end(found.span.1));
    row.f64(facts.rtt_floor.map(Delta::as_ms));
    row.bool(found.is_floor_seen);
    row.f64(found.target.as_ms());
    row.u64(found.samples);
    row.u64(found.sharp);
    row.u64(u64::from(found.windows));
    row.u64(u64::from(found.low));
    let standing = found.standing;
    row.u64(u64::from(standing.map_or(0, |s| s.windows)));
    row.i64(standing.map(|s| start(s.span.0)));
    row.i64(standing.map(|s| end(s.span.1)));
    row.f64(standing.map(|s| WINDOW.as_ms() * f64::from(s.longest)));
    row.f64(standing.map(|s| s.sustained_ms));
    row.f64(standing.map(|s| s.p50_ms));
    row.f64(standing.map(|s| s.p95_ms));
    row.f64(standing.map(|s| s.iqr_ms));
    row.u64(standing.map(|s| u64::from(s.falls)));
    row.u64(standing.map(|s| u64::from(s.low_before)));
    row.f64(standing.map(|s| s.level_share));
    row.f64(standing.and_then(|s| s.before_ms));
    waits(&mut row, found);
    carrying(&mut row, &found.ahead);
    carrying(&mut row, &found.back);
}

/// Delays that were the answering host's or the radio's own, by kind.
fn waits(row: &mut RowWriter<'_>, found: &Evidence) {
    for wait in found.waits {
        row.u64(u64::from(wait.samples));
        row.f64(wait.median_ms);
    }
}

fn carrying(row: &mut RowWriter<'_>, carrying: &Carrying) {
    row.f64(carrying.peak_bps);
    row.f64(carrying.standing_bps);
    row.f64(carrying.own_standing_bps);
    row.f64(carrying.low_bps);
    row.f64(carrying.before_bps);
    row.f64(carrying.in_flight_bytes);
    row.f64(carrying.own_in_flight_bytes);
    row.f64(carrying.low_in_flight_bytes);
    row.f64(carrying.steadiness);
    row.f64(carrying.coupling);
    row.u64(carrying.lost);
    row.u64(u64::from(carrying.busy));
    row.u64(u64::from(carrying.busy_low));
}
