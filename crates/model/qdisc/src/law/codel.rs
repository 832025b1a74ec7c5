//! CoDel: drop at the head when packets have waited for longer than a target for an interval.
//!
//! # References
//!
//! - RFC 8289, sections 4 and 5 (pseudo-code).
//! - Linux 6.12 `include/net/codel.h`, `codel_impl.h`.
//!
//! # Where we differ
//!
//! | # | theirs | ours | why |
//! |---|---|---|---|
//! | 1 | RFC: real numbers for 1/sqrt(count) | Linux: one Newton step per drop, 16 bits kept, which makes the second gap as short as the fourth should be | drops must fall at the kernel's very packets; [`Root::Exact`] is the RFC's law |
//! | 2 | RFC: time in seconds | Linux: ticks of 1,024 ns that wrap after 73 minutes | the same |
//! | 3 | Linux: a first-above time of 0 means none | an `Option` | differs for one tick in 73 minutes |
//! | 4 | Linux: `ce_threshold` may be limited to some code points | all ECN-capable packets | nothing of ours asks for it |

use crate::event::Reason;
use crate::fixed::{inverse_sqrt_step, scale};
use crate::packet::Packet;
use crate::queue::Context;
use serde::Deserialize;
use unbloat_params::range::{PERIOD, SPAN};
use unbloat_params::{Settings, defaults};
use unbloat_units::{Delta, Time};

/// How 1/sqrt(count) is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    /// One Newton step from the last value, as Linux does. From count 1 to 2 it halves the gap,
    /// where the law asks for a factor of 0.71.
    #[default]
    Newton,
    /// As the law is written (RFC 8289 section 5.3).
    Exact,
}

defaults! {
    /// What an operator sets.
    ///
    /// RFC 8289 section 4.2 and 4.3; ECN off as in Linux.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Acceptable standing delay.
        pub target: Delta = Delta::ms(5);
        /// How long the delay must stay above the target; of the order of the longest usual RTT.
        pub interval: Delta = Delta::ms(100);
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = false;
        /// Marks every ECN-capable packet that waited for longer than this, besides what CoDel does.
        pub ce_threshold: Option<Delta> = None;
        pub root: Root = Root::Newton;
    }
}

impl Params {
    /// These, but for what the settings give.
    pub fn read<S: Settings>(self, settings: &mut S) -> Result<Params, S::Error> {
        Ok(Params {
            target: settings.within("target", self.target, &SPAN)?,
            interval: settings.within("interval", self.interval, &PERIOD)?,
            ecn: settings.or("ecn", self.ecn)?,
            ce_threshold: settings
                .maybe_within("ce_threshold", &SPAN)?
                .or(self.ce_threshold),
            root: settings.or("root", self.root)?,
        })
    }
}

/// The parameters as the law works with them.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    target: u32,
    interval: u32,
    ce_threshold: Option<u32>,
    ecn: bool,
    root: Root,
    /// No drop with no more than this behind the packet, in bytes of frames.
    frame_mtu: u32,
}

/// What the law remembers of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Drops and marks since the dropping state was entered.
    count: u32,
    /// `count` when it was last entered.
    last_count: u32,
    dropping: bool,
    /// 1/sqrt(count), in units of 2^-16.
    inverse_sqrt: u16,
    /// When the delay will have been above the target for an interval.
    first_above: Option<u32>,
    /// The time of the next drop, or of the last one when not dropping.
    drop_next: u32,
    /// How long the last packet at the head had waited.
    sojourn: u32,
}

/// What is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub drops: u64,
    /// Marked instead of dropped.
    pub marks: u64,
    /// Marked for `ce_threshold`.
    pub ce_marks: u64,
}

/// The queue that the law empties.
pub trait Source {
    /// Takes the packet at the head.
    fn pop(&mut self) -> Option<Packet>;

    /// What still stands in the whole discipline, in bytes of frames.
    fn backlog(&self) -> u64;
}

/// A tick is 1,024 ns; the counter wraps.
const TICK_SHIFT: u32 = 10;
const INVERSE_SQRT_SHIFT: u32 = 16;

#[inline]
fn ticks(time: Time) -> u32 {
    (time.as_ns() >> TICK_SHIFT) as u32
}

fn span(delta: Delta) -> u32 {
    u32::try_from(delta.as_ns() >> TICK_SHIFT).unwrap_or(i32::MAX as u32)
}

/// Whether tick `a` is later than `b`; right within 36 minutes.
#[inline]
fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

#[inline]
fn is_before(a: u32, b: u32) -> bool {
    is_after(b, a)
}

impl Law {
    pub fn new(params: &Params, frame_mtu: u32) -> Law {
        Law {
            target: span(params.target),
            interval: span(params.interval),
            ce_threshold: params.ce_threshold.map(span),
            ecn: params.ecn,
            root: params.root,
            frame_mtu,
        }
    }
}

impl State {
    /// Takes the next packet to send; those that the law drops on the way are gone (section 5.5).
    #[inline]
    pub fn dequeue(
        &mut self,
        law: &Law,
        stats: &mut Stats,
        now: Time,
        source: &mut impl Source,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let Some(packet) = source.pop() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        let tick = ticks(now);
        let is_over = self.is_over(law, &packet, source.backlog(), tick);
        let mut head = if !is_over {
            self.dropping = false;
            Some(packet)
        } else if self.dropping {
            self.drop_due(law, stats, packet, now, source, cx)
        } else {
            self.start_dropping(law, stats, packet, now, source, cx)
        };
        if let (Some(sent), Some(threshold)) = (&mut head, law.ce_threshold)
            && is_after(self.sojourn, threshold)
            && sent.ecn.is_capable()
        {
            stats.ce_marks += 1;
            cx.mark(now, sent, Reason::Step);
        }
        head
    }

    /// Raises the drop rate by as many drops that happened outside of the law.
    pub fn add_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// Whether the delay has been above the target for an interval (section 5.6, `ok_to_drop`).
    #[inline]
    fn is_over(&mut self, law: &Law, packet: &Packet, backlog: u64, tick: u32) -> bool {
        self.sojourn = tick.wrapping_sub(ticks(packet.enqueued));
        if is_before(self.sojourn, law.target) || backlog <= u64::from(law.frame_mtu) {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(tick.wrapping_add(law.interval));
                false
            }
            Some(first_above) => is_after(tick, first_above),
        }
    }

    /// In the dropping state: drops while drops are due, which may leave the state.
    fn drop_due(
        &mut self,
        law: &Law,
        stats: &mut Stats,
        mut packet: Packet,
        now: Time,
        source: &mut impl Source,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let tick = ticks(now);
        while !is_before(tick, self.drop_next) {
            self.count = self.count.wrapping_add(1);
            self.follow_count(law.root);
            if signal(law, stats, &mut packet, now, cx) {
                self.drop_next = self.next_drop(law, self.drop_next);
                return Some(packet);
            }
            match self.next_packet(law, tick, source) {
                (next, false) => {
                    self.dropping = false;
                    return next;
                }
                (next, true) => packet = next?,
            }
            self.drop_next = self.next_drop(law, self.drop_next);
        }
        Some(packet)
    }

    /// Enters the dropping state with one drop.
    fn start_dropping(
        &mut self,
        law: &Law,
        stats: &mut Stats,
        mut packet: Packet,
        now: Time,
        source: &mut impl Source,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let tick = ticks(now);
        let head = if signal(law, stats, &mut packet, now, cx) {
            Some(packet)
        } else {
            self.next_packet(law, tick, source).0
        };
        self.dropping = true;
        // If the last cycle ended a short while ago, its rate is a good place to begin.
        let delta = self.count.wrapping_sub(self.last_count);
        let since = tick.wrapping_sub(self.drop_next);
        if delta > 1 && is_before(since, law.interval.wrapping_mul(16)) {
            self.count = delta;
            self.follow_count(law.root);
        } else {
            self.count = 1;
            self.inverse_sqrt = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.next_drop(law, tick);
        head
    }

    /// The packet behind a dropped one, and whether it is over the target as well.
    fn next_packet(
        &mut self,
        law: &Law,
        tick: u32,
        source: &mut impl Source,
    ) -> (Option<Packet>, bool) {
        let next = source.pop();
        let is_over = match &next {
            Some(packet) => self.is_over(law, packet, source.backlog(), tick),
            None => {
                self.first_above = None;
                false
            }
        };
        (next, is_over)
    }

    /// Brings the inverse square root up to a new count above 1.
    fn follow_count(&mut self, root: Root) {
        self.inverse_sqrt = match root {
            Root::Newton => {
                let estimate = u32::from(self.inverse_sqrt) << INVERSE_SQRT_SHIFT;
                (inverse_sqrt_step(self.count, estimate) >> INVERSE_SQRT_SHIFT) as u16
            }
            Root::Exact => {
                (f64::from(1 << INVERSE_SQRT_SHIFT) / f64::from(self.count).sqrt()) as u16
            }
        };
    }

    /// The control law: an interval over the square root of `count` after `from`.
    fn next_drop(&self, law: &Law, from: u32) -> u32 {
        let fraction = u32::from(self.inverse_sqrt) << INVERSE_SQRT_SHIFT;
        from.wrapping_add(scale(u64::from(law.interval), fraction) as u32)
    }
}

/// Marks the packet if it may be marked, else reports it as dropped. Whether it lives on.
fn signal(
    law: &Law,
    stats: &mut Stats,
    packet: &mut Packet,
    now: Time,
    cx: &mut Context<'_>,
) -> bool {
    if law.ecn && packet.ecn.is_capable() {
        stats.marks += 1;
        cx.mark(now, packet, Reason::Sojourn);
        return true;
    }
    stats.drops += 1;
    cx.dropped(now, *packet, Reason::Sojourn);
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::discipline::codel::{self, Codel};
    use crate::packet::{Ecn, FlowHash, IpLen};
    use crate::testkit::{bottleneck, paced};
    use unbloat_units::Rate;

    fn params(target: Delta, interval: Delta) -> codel::Params {
        codel::Params {
            law: Params {
                target,
                interval,
                ..Params::default()
            },
            limit_packets: 1_000,
            device: Device {
                mtu: 1_500,
                header: 0,
            },
        }
    }

    #[test]
    fn marking_instead_of_dropping_keeps_every_packet() {
        let mut with_ecn = params(Delta::ms(5), Delta::ms(100));
        with_ecn.law.ecn = true;
        let arrivals: Vec<_> = paced(Time::from_ns(0), Delta::ms(2), 400, 1_000)
            .map(|(at, mut packet)| {
                packet.ecn = Ecn::Ect0;
                (at, packet)
            })
            .collect();
        let run = bottleneck(&mut Codel::new(with_ecn), Rate::kbps(800), arrivals);
        assert_eq!(run.sent.len(), 400);
        assert!(run.drops().is_empty());
        let carried = run.sent.iter().filter(|(_, p)| p.ecn == Ecn::Ce).count();
        assert_eq!(carried, run.marks().len());
        assert!(carried > 20, "{carried}");
    }

    #[test]
    fn the_first_drop_comes_an_interval_after_the_target_was_exceeded() {
        // Two packets arrive for each that leaves, 1 ms each: sojourn reaches 5 ms at about 10 ms.
        let mut queue = Codel::new(params(Delta::ms(5), Delta::ms(100)));
        let arrivals = paced(Time::from_ns(0), Delta::us(500), 400, 1_000);
        let run = bottleneck(&mut queue, Rate::mbps(8), arrivals);
        // Packet k leaves at k ms and came at k/2 ms: sojourn k/2 reaches 5 ms with packet 10, so
        // drops are due once 110 ms have passed: at 111 ms, when packet 111 is at the head.
        let (at, event) = run.events[0];
        assert_eq!(at, Time::from_ns(111_000_000), "{event:?}");
        assert_eq!(run.drops()[0], (111, Reason::Sojourn));
    }

    #[test]
    fn a_threshold_marks_whatever_waited_longer() {
        let mut with_threshold = params(Delta::ms(500), Delta::ms(1_000));
        with_threshold.law.ce_threshold = Some(Delta::ms(3));
        let arrivals = (0..10).map(|k| {
            let mut packet = Packet::new(k, IpLen::new(1_000), FlowHash(1));
            packet.ecn = if k % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            (Time::from_ns(0), packet)
        });
        let run = bottleneck(&mut Codel::new(with_threshold), Rate::mbps(8), arrivals);
        // Packet k waits k ms.
        let marks = [(4, Reason::Step), (6, Reason::Step), (8, Reason::Step)];
        assert_eq!(run.marks(), marks);
    }
}
