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
//! SYNs only the first pays the whole promotion, so the silence is that before the user's SYN. The
//! paper needs a G that is known by then; here a handshake waits for it until the user's last flow.

use super::{Analysis, Context, Findings, Flow};
use crate::flow::FlowCore;
use crate::params::Params;
use crate::tables::{PromotionRow, order};
use crate::tcp::{Kind, Segment};
use crate::user::waiting::{Answer, Silent};
use unbloat_table::{Columns, RowWriter, columns};
use unbloat_units::{Delta, Direction, Seq, Time};
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
    fn step(&mut self, flow_id: u64, seg: &Segment<'_>, cx: &mut Context<'_>) {
        let flags = seg.header.tcp_flags;
        let since = seg.now.since(self.last_step);
        match (self.stage, seg.side, flags.syn()) {
            (Stage::Unseen, Direction::Up, true) if !flags.ack() => {
                self.stage = Stage::Syn;
                self.clock = Clock::of_syn(tsval(seg));
                let silence = cx.user.silence_before().unwrap_or(Delta::ZERO);
                self.silence_ms = u32::try_from(silence.as_us() / 1000).unwrap_or(u32::MAX);
            }
            (Stage::Syn | Stage::SynAck, Direction::Up, true) => self.stage = Stage::Repeated,
            (Stage::Syn, Direction::Down, true) if flags.ack() => {
                self.stage = Stage::SynAck;
                self.upstream = Micros::of(since);
            }
            (Stage::SynAck, Direction::Down, true) => self.stage = Stage::Repeated,
            (Stage::SynAck, Direction::Up, false) if flags.ack() && !flags.rst() => {
                self.stage = Stage::Complete;
                self.downstream = Micros::of(since);
                self.clock = self.clock.at_ack(tsval(seg));
            }
            _ => return,
        }
        self.last_step = seg.now;
        if self.stage == Stage::Complete && self.is_after_silence(cx.params) {
            cx.user.want_tick();
            if let Some(tsval) = tsval(seg) {
                cx.user.on_answer(Answer {
                    flow_id,
                    time: seg.now,
                    tsval,
                    rtt: self.downstream.span(),
                });
            }
        }
    }

    fn is_after_silence(&self, params: &Params) -> bool {
        self.silence() > Some(params.promotion_silence)
    }

    fn silence(&self) -> Option<Delta> {
        (self.silence_ms > 0).then(|| Delta::ms(i64::from(self.silence_ms)))
    }

    /// What is known of a complete handshake after `T` of silence.
    fn silent(&self, core: &FlowCore, params: &Params) -> Option<Silent> {
        if self.stage != Stage::Complete || !self.is_after_silence(params) {
            return None;
        }
        Some(Silent {
            flow_id: core.flow_id,
            begun: core.start,
            ticks: self.clock.ticks()?,
            at_monitor: self.upstream.span() + self.downstream.span(),
        })
    }
}

/// Writes the promotions of the user that can be told now.
fn write_promotions(flow_id: u64, cx: &mut Context<'_>) {
    let Some((tick, kept)) = cx.user.take_kept() else {
        return;
    };
    for silent in kept {
        let (delay, error) = silent.promotion(tick);
        let row = PromotionRow {
            user_id: cx.user.user_id,
            flow_id: silent.flow_id,
            time_ns: cx.since_origin(silent.begun),
            promotion_ms: delay.as_ms(),
            promotion_error_ms: error.as_ms(),
        };
        let order = order(cx.number, flow_id);
        cx.tables.promotions.push(order, row);
    }
}

fn tsval(seg: &Segment<'_>) -> Option<Seq> {
    seg.header
        .flags
        .has(PacketFlags::TIMESTAMPS)
        .then_some(seg.header.tsval)
}

columns! {
    pub struct HandshakeColumns<'a> {
        handshake: Option<&'a str> = "complete, retransmitted, unanswered, incomplete or unseen",
        handshake_up_ms: Option<f64> = "t2-t1: monitor to server and back (section 4.2)",
        handshake_down_ms: Option<f64> = "t3-t2: monitor to client and back (section 4.2)",
        pep: Option<bool> = "the server port is one of pep_ports: upstream ends at the proxy",
        silence_before_s: Option<f64> = "radio silence of the user before the SYN; null at the user's first packet",
        promotion_ms: Option<f64> = "promotion delay of the radio, for handshakes after T of silence (Fig. 9); null if the client's tick is not known by the flow's end: the table promotions may still tell it",
        promotion_error_ms: Option<f64> = "its error from the tick and its estimate",
    }
}

impl Analysis for Handshake {
    type Light = Light;
    type Deep = ();
    type Columns = HandshakeColumns<'static>;
    // Promotions of the user wait for any flow's end.
    const IS_OF_ALL: bool = true;

    fn is_alone(column: &str) -> bool {
        !column.starts_with("promotion")
    }

    #[inline]
    fn on_packet(
        kind: Kind,
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        match kind {
            Kind::Data => {
                if matches!(light.stage, Stage::Syn | Stage::SynAck) {
                    light.step(flow.core.flow_id, seg, cx);
                }
            }
            Kind::Ack => {
                if matches!(light.stage, Stage::Syn | Stage::SynAck) {
                    light.step(flow.core.flow_id, seg, cx);
                }
            }
            Kind::Other => {
                if !matches!(light.stage, Stage::Complete | Stage::Repeated)
                    && (seg.header.tcp_flags.syn() || light.stage != Stage::Unseen)
                {
                    debug_assert!(flow.is_tcp());
                    light.step(flow.core.flow_id, seg, cx);
                }
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
        let complete = light.stage == Stage::Complete;
        let name = match light.stage {
            Stage::Unseen => "unseen",
            Stage::Syn => "unanswered",
            Stage::SynAck => "incomplete",
            Stage::Complete => "complete",
            Stage::Repeated => "retransmitted",
        };
        if complete {
            findings.upstream_base = Some(light.upstream.span());
            findings.downstream_base = Some(light.downstream.span());
        }
        let silent = light.silent(flow.core, cx.params);
        let promotion = silent
            .zip(cx.user.tick())
            .map(|(s, tick)| s.promotion(tick));
        let columns = HandshakeColumns {
            handshake: flow.is_tcp().then_some(name),
            handshake_up_ms: complete.then(|| light.upstream.span().as_ms()),
            handshake_down_ms: complete.then(|| light.downstream.span().as_ms()),
            pep: flow
                .is_tcp()
                .then(|| cx.params.pep_ports.contains(&flow.core.server_port)),
            silence_before_s: light.silence().map(Delta::as_secs),
            promotion_ms: promotion.map(|(delay, _)| delay.as_ms()),
            promotion_error_ms: promotion.map(|(_, error)| error.as_ms()),
        };
        columns.write(row);
        if let Some(silent) = silent {
            cx.user.keep(silent);
        }
        write_promotions(flow.core.flow_id, cx);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Script;

    /// The client stamps 1 ms ticks from 1,000 on and its packets take 15 ms to the monitor; its
    /// radio takes 485 ms for the SYN at 20 s. The flow ends before the tick can be told.
    fn promoted() -> Script {
        Script::default()
            .at(0.0, "> 1+10 ack 1 ts 985 1")
            .at(20_000.0, "> syn 5000+0 ts 20500 0")
            .at(20_020.0, "< syn 5000+0 ack 5001 ts 5 20500")
            .at(20_070.0, "> 5001+0 ack 5001 ts 21055 5")
    }

    #[test]
    fn a_promotion_is_told_when_a_later_flow_tells_the_tick() {
        let results = promoted()
            .at(21_000.0, "> syn 9000+0 ts 21985 0")
            .at(21_020.0, "< syn 9000+0 ack 9001 ts 6 21985")
            .at(21_070.0, "> 9001+0 ack 9001 ts 22055 6")
            .at(22_900.0, "< 9001+1000 ack 9001 ts 7 22055")
            .at(22_950.0, "> 9001+0 ack 10001 ts 23935 7")
            .run();
        assert_eq!(results.values("promotions", "promotion_ms"), [Some(485.0)]);
        assert_eq!(results.values("flows", "promotion_ms"), [None; 3]);
        assert_eq!(results.values("users", "tick_ms"), [Some(1.0)]);
    }

    #[test]
    fn a_promotion_whose_tick_is_never_known_is_not_told() {
        let results = promoted().run();
        assert_eq!(results.values("promotions", "promotion_ms"), []);
    }
}
