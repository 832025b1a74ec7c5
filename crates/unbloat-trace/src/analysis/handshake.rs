//! The handshake split at the monitor, and the radio's promotion before it (§4.2, Fig. 7, 8 and 9).
//!
//! With the SYN passing at t1, the SYN-ACK at t2 and the first ACK at t3, the upstream RTT is t2-t1
//! and the downstream RTT t3-t2. A handshake in which the SYN or the SYN-ACK was sent twice measures
//! the sender's timer, so it gives neither.
//!
//! A client whose radio was off sends its SYN when the radio is up, but stamps it before. So its own
//! clock saw G*(TSval of the ACK - TSval of the SYN) pass, the network only t3-t1; the difference is
//! the promotion delay.
//!
//! # Where we differ
//! The paper prints G(TSb-TSa) with b the SYN and a the ACK: its sign is reversed. We take it the
//! other way round. Only handshakes after `T` of radio silence count, as in the paper; of a burst of
//! SYNs only the first pays the whole promotion, so the silence is that before the user's SYN.

use super::{Analysis, Context, Findings, Flow};
use crate::tcp::{Segment, Side};
use unbloat_table::{Column, RowWriter};
use unbloat_units::{Delta, Seq, Time};
use unbloat_wire::PacketFlags;

pub(crate) struct Handshake;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The trace joined the flow later, or lacks a part of the handshake.
    #[default]
    Unseen,
    Syn,
    SynAck,
    Complete,
    /// The SYN or the SYN-ACK was sent more than once.
    Repeated,
}

#[derive(Clone, Default)]
pub(crate) struct Light {
    stage: Stage,
    /// When the SYN and then the SYN-ACK passed.
    last_step: Time,
    upstream: Micros,
    downstream: Micros,
    clock: Clock,
    /// The user's radio was silent for this long before the SYN; 0 at the user's first packet.
    silence_ms: u32,
}

/// What the handshake tells of the client's clock.
#[derive(Clone, Copy, Default)]
enum Clock {
    #[default]
    Unknown,
    /// What it showed in the SYN.
    Syn(Seq),
    /// Its ticks from the SYN to the ACK, at least one.
    Ticks(u32),
}

impl Clock {
    fn of_syn(tsval: Option<Seq>) -> Clock {
        tsval.map_or(Clock::Unknown, Clock::Syn)
    }

    fn at_ack(self, tsval: Option<Seq>) -> Clock {
        match (self, tsval) {
            (Clock::Syn(syn), Some(ack)) if ack.after(syn) => Clock::Ticks(ack.since(syn) as u32),
            _ => Clock::Unknown,
        }
    }

    fn ticks(self) -> Option<u32> {
        match self {
            Clock::Ticks(ticks) => Some(ticks),
            _ => None,
        }
    }
}

/// A span of up to 71 minutes; longer ones stay there.
#[derive(Clone, Copy, Debug, Default)]
struct Micros(u32);

impl Micros {
    fn of(span: Delta) -> Micros {
        Micros(u32::try_from((span.as_ns() + 500) / 1000).unwrap_or(u32::MAX))
    }

    fn span(self) -> Delta {
        Delta::us(i64::from(self.0))
    }
}

impl Light {
    fn step(&mut self, seg: &Segment<'_>, cx: &Context<'_>) {
        let flags = seg.header.tcp_flags;
        let since = seg.now.since(self.last_step);
        match (self.stage, seg.side, flags.syn()) {
            (Stage::Unseen, Side::Up, true) if !flags.ack() => {
                self.stage = Stage::Syn;
                self.clock = Clock::of_syn(tsval(seg));
                let silence = cx.user.silence_before().unwrap_or(Delta::ZERO);
                self.silence_ms = u32::try_from(silence.as_us() / 1000).unwrap_or(u32::MAX);
            }
            (Stage::Syn | Stage::SynAck, Side::Up, true) => self.stage = Stage::Repeated,
            (Stage::Syn, Side::Down, true) if flags.ack() => {
                self.stage = Stage::SynAck;
                self.upstream = Micros::of(since);
            }
            (Stage::SynAck, Side::Down, true) => self.stage = Stage::Repeated,
            (Stage::SynAck, Side::Up, false) if flags.ack() && !flags.rst() => {
                self.stage = Stage::Complete;
                self.downstream = Micros::of(since);
                self.clock = self.clock.at_ack(tsval(seg));
            }
            _ => return,
        }
        self.last_step = seg.now;
    }

    fn silence(&self) -> Option<Delta> {
        (self.silence_ms > 0).then(|| Delta::ms(i64::from(self.silence_ms)))
    }

    fn promotion(&self, cx: &Context<'_>) -> Option<(Delta, Delta)> {
        if self.silence()? <= cx.params.promotion_silence {
            return None;
        }
        let tick = cx.user.tick()?;
        let by_client = tick.value * i64::from(self.clock.ticks()?);
        let by_monitor = self.upstream.span() + self.downstream.span();
        // Each of the two stamps is off by up to one tick.
        let error = Delta::from_secs_f64(by_client.as_secs() * tick.error) + tick.value;
        Some((by_client - by_monitor, error))
    }
}

fn tsval(seg: &Segment<'_>) -> Option<Seq> {
    seg.header
        .flags
        .has(PacketFlags::TIMESTAMPS)
        .then_some(seg.header.tsval)
}

impl Analysis for Handshake {
    type Light = Light;
    type Deep = ();

    fn columns(columns: &mut Vec<Column>) {
        columns.extend([
            Column::text(
                "handshake",
                "complete, retransmitted, unanswered, incomplete or unseen",
            ),
            Column::f64(
                "handshake_up_ms",
                "t2-t1: monitor to server and back (section 4.2)",
            ),
            Column::f64(
                "handshake_down_ms",
                "t3-t2: monitor to client and back (section 4.2)",
            ),
            Column::bool(
                "pep",
                "the server port is one of pep_ports: upstream ends at the proxy",
            ),
            Column::f64(
                "silence_before_s",
                "radio silence of the user before the SYN; null at the user's first packet",
            ),
            Column::f64(
                "promotion_ms",
                "promotion delay of the radio, for handshakes after T of silence (Fig. 9)",
            ),
            Column::f64(
                "promotion_error_ms",
                "its error from the tick and its estimate",
            ),
        ]);
    }

    #[inline]
    fn on_segment(
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        if !matches!(light.stage, Stage::Complete | Stage::Repeated)
            && (seg.header.tcp_flags.syn() || light.stage != Stage::Unseen)
        {
            debug_assert!(flow.is_tcp());
            light.step(seg, cx);
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
        let complete = light.stage == Stage::Complete;
        let name = match light.stage {
            Stage::Unseen => "unseen",
            Stage::Syn => "unanswered",
            Stage::SynAck => "incomplete",
            Stage::Complete => "complete",
            Stage::Repeated => "retransmitted",
        };
        row.text(flow.is_tcp().then_some(name));
        if complete {
            findings.upstream_base = Some(light.upstream.span());
            findings.downstream_base = Some(light.downstream.span());
        }
        row.f64(complete.then(|| light.upstream.span().as_ms()));
        row.f64(complete.then(|| light.downstream.span().as_ms()));
        row.bool(
            flow.is_tcp()
                .then(|| cx.params.pep_ports.contains(&flow.core.server_port)),
        );
        row.f64(light.silence().map(Delta::as_secs));
        let promotion = if complete { light.promotion(cx) } else { None };
        row.f64(promotion.map(|(delay, _)| delay.as_ms()));
        row.f64(promotion.map(|(_, error)| error.as_ms()));
    }
}
