//! A drop-tail queue in front of a constant rate, and the delay behind it: the times of a packet are known when it arrives.

use super::ring::Slots;
use crate::bottleneck;
use crate::seam::{Element, Output, Place};
use crate::service::constant::Constant;
use crate::service::{self, Service};
use fastrand::Rng;
use unbloat_qdisc::discipline::droptail;
use unbloat_qdisc::{Backlog, Event, Packet, Reason};
use unbloat_units::{Bytes, Delta, Framing, Rate, Time};

/// The same as a [`crate::Bottleneck`] and a [`super::delay::Delay`], to the last call of an output, at less than half of what they cost.
#[derive(Debug)]
pub struct Pipe {
    queue: droptail::Params,
    service: Constant,
    framing: Framing,
    delay: Delta,
    /// Packets that wait, are being sent or are in the delay, in the order of arrival.
    packets: Slots<Passing>,
    /// Number of the one that is being sent.
    sending: usize,
    /// When the first one leaves the delay, if it is there.
    next_leaves: Time,
    /// When the one that is being sent has left the link.
    next_sent: Time,
    /// When the last one has.
    all_sent: Time,
    bytes: Bytes,
    waiting_bytes: Bytes,
    is_fed: bool,
}

/// A cache line.
#[derive(Clone, Copy, Debug)]
struct Passing {
    /// When its last byte leaves the link.
    sent: Time,
    /// When it leaves the delay.
    leaves: Time,
    packet: Packet,
}

impl Pipe {
    /// Of a bottleneck and the delay behind it, if that is all that they are.
    pub(crate) fn build(params: &bottleneck::Params, delay: Delta, rng: &mut Rng) -> Option<Pipe> {
        let unbloat_qdisc::Config::DropTail(queue) = &params.queue else {
            return None;
        };
        let service::Config::Constant(service) = &params.service else {
            return None;
        };
        if service.rate == Rate::ZERO {
            return None;
        }
        // That of the bottleneck, of which a drop-tail queue makes no use.
        let _ = rng.fork();
        Some(Pipe {
            queue: *queue,
            service: Constant::new(*service),
            framing: params.framing,
            delay: delay.max(Delta::ZERO),
            packets: Slots::default(),
            sending: 0,
            next_leaves: Time::MAX,
            next_sent: Time::MAX,
            all_sent: Time::MAX,
            bytes: Bytes::ZERO,
            waiting_bytes: Bytes::ZERO,
            is_fed: false,
        })
    }

    /// As [`crate::Path::feed`] has it.
    pub(crate) fn feed(&mut self) {
        self.is_fed = true;
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.sending == self.packets.end
    }

    #[inline]
    fn waiting(&self) -> usize {
        (self.packets.end - self.sending).saturating_sub(1)
    }

    #[inline]
    fn has_room(&self, packet: &Packet) -> bool {
        let (waiting, bytes) = (self.waiting(), self.waiting_bytes);
        self.queue.has_room(waiting, bytes, packet.len.bytes())
    }

    /// Appends a packet that arrives at `now` and is sent from `begin` on.
    #[inline(always)]
    fn push(&mut self, now: Time, begin: Time, packet: &Packet) {
        let len = packet.len.bytes();
        self.bytes += len;
        self.waiting_bytes += len;
        let wire_bytes = self.framing.wire_bytes(packet.len.as_u32());
        let sent = self.service.finish(begin, wire_bytes);
        self.all_sent = sent;
        let leaves = sent + self.delay;
        if self.packets.is_empty() {
            self.next_leaves = leaves;
        }
        self.packets.push(Passing {
            sent,
            leaves,
            packet: Packet {
                enqueued: now,
                ..*packet
            },
        });
    }

    /// Begins to send the next packet, if there is one.
    #[inline(always)]
    fn begin(&mut self, now: Time, out: &mut impl Output) {
        self.next_sent = Time::MAX;
        if !self.is_idle() {
            let Passing { sent, packet, .. } = self.packets.at(self.sending);
            self.next_sent = *sent;
            self.waiting_bytes = self.waiting_bytes - packet.len.bytes();
            out.waited(now, Place::Queue, packet, now - packet.enqueued);
        }
    }

    /// Brings the queue and the link up to date, and what is behind up to the last time that a packet came there.
    #[inline(always)]
    fn settle(&mut self, now: Time, out: &mut impl Output) {
        while self.next_sent <= now && !self.is_idle() {
            let at = self.next_sent;
            self.sending += 1;
            if self.next_leaves <= at {
                self.deliver_late(at, out);
            }
            if self.is_fed && self.is_idle() {
                self.refill(at, out);
            }
            self.begin(at, out);
        }
    }

    fn refill(&mut self, now: Time, out: &mut impl Output) {
        match out.next(now) {
            Some(packet) if self.has_room(&packet) => self.push(now, now, &packet),
            Some(packet) => out.event(now, dropped(packet)),
            None => {}
        }
    }

    /// Of a driver that comes late, or whose packets come and leave at one time.
    #[inline(never)]
    fn deliver_late(&mut self, now: Time, out: &mut impl Output) {
        self.deliver_due(now, out);
    }

    #[inline(always)]
    fn deliver_due(&mut self, now: Time, out: &mut impl Output) {
        while self.next_leaves <= now && self.packets.first < self.sending {
            let leaves = self.next_leaves;
            let packet = self.packets.at(self.packets.first).packet;
            self.packets.first += 1;
            self.bytes = self.bytes - packet.len.bytes();
            self.next_leaves = match self.packets.is_empty() {
                true => Time::MAX,
                false => self.packets.at(self.packets.first).leaves,
            };
            out.deliver(leaves, packet);
        }
    }
}

fn dropped(packet: Packet) -> Event {
    let reason = Reason::Overflow;
    Event::Dropped { packet, reason }
}

impl Element for Pipe {
    #[inline(always)]
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.settle(now, out);
        let is_idle = self.is_idle();
        let passes = is_idle && self.queue.is_roomless();
        if !passes && !self.has_room(&packet) {
            return out.event(now, dropped(packet));
        }
        let begin = match is_idle {
            true => self.service.ready(now, false),
            false => self.all_sent,
        };
        self.push(now, begin, &packet);
        if is_idle {
            self.begin(now, out);
        }
    }

    #[inline]
    fn next_at(&self) -> Option<Time> {
        let mut next = self.next_leaves;
        if self.is_fed {
            next = next.min(self.next_sent);
        }
        (next < Time::MAX).then_some(next)
    }

    #[inline(always)]
    fn advance(&mut self, now: Time, out: &mut impl Output) {
        self.settle(now, out);
        self.deliver_due(now, out);
    }

    #[inline]
    fn coming(&self, after: usize) -> Option<&Packet> {
        let number = self.packets.first + after;
        (number < self.packets.end).then(|| &self.packets.at(number).packet)
    }

    fn latency(&self) -> Delta {
        self.delay
    }

    fn is_watched(&self) -> bool {
        self.is_fed
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u32,
            bytes: self.bytes,
        }
    }

    fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
        let waiting = Backlog {
            packets: self.waiting() as u32,
            bytes: self.waiting_bytes,
        };
        tell(Place::Queue, waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{delay, loss};
    use crate::service::constant;
    use crate::testing::packet;
    use crate::{AnyElement, BottleneckParams, Config, Path};
    use unbloat_qdisc::Observer;

    /// Writes down each call, and hands over a packet now and then if asked for one.
    struct Told {
        calls: Vec<String>,
        rng: Rng,
    }

    impl Observer for Told {
        fn event(&mut self, now: Time, event: Event) {
            self.calls.push(format!("{now:?} {event:?}"));
        }
    }

    impl Output for Told {
        fn deliver(&mut self, at: Time, packet: Packet) {
            self.calls.push(format!("{at:?} {packet:?}"));
        }

        fn waited(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
            self.calls
                .push(format!("{at:?} {place:?} {packet:?} {wait:?}"));
        }

        fn next(&mut self, at: Time) -> Option<Packet> {
            self.calls.push(format!("{at:?} next"));
            let has_next = self.rng.bool();
            has_next.then(|| packet(u32::MAX, self.rng.u32(40..=1_500)))
        }
    }

    fn bottleneck(rng: &mut Rng) -> Config {
        let queue = droptail::Params {
            limit_packets: rng.bool().then(|| rng.u32(0..12)),
            limit_bytes: rng.bool().then(|| Bytes::new(rng.u64(0..12_000))),
        };
        // From 1 kbit/s to 10 Tbit/s, where several packets leave in one nanosecond.
        let rate = Rate::bps(10_u64.pow(rng.u32(3..13)) * rng.u64(1..10));
        Config::Bottleneck(BottleneckParams {
            queue: unbloat_qdisc::Config::DropTail(queue),
            service: service::Config::Constant(constant::Params { rate }),
            framing: [Framing::NONE, Framing::ETHERNET][rng.usize(0..2)],
        })
    }

    fn configs(rng: &mut Rng) -> Vec<Config> {
        let mut configs = Vec::new();
        for _ in 0..rng.usize(1..3) {
            configs.push(bottleneck(rng));
            if rng.bool() {
                let delay = Delta::ns(rng.i64(-1..4) * rng.i64(0..3_000_000));
                configs.push(Config::Delay(delay::Params { delay }));
            }
            if rng.bool() {
                configs.push(Config::Loss(loss::Params { loss: 0.1 }));
            }
        }
        configs
    }

    #[test]
    fn a_pipe_is_a_bottleneck_and_a_delay_to_the_last_call() {
        let (mut dropped, mut fed) = (0, 0);
        for seed in 0..2_000 {
            let mut rng = Rng::with_seed(seed);
            let configs = configs(&mut rng);
            let start = Time::from_ns(0);
            let [mut draws, mut same_draws] = [1, 1].map(Rng::with_seed);
            let parts = configs.iter().map(|one| one.build(start, &mut draws));
            let mut parts = Path::of(parts.collect());
            let mut pipe = Path::build(&configs, start, &mut same_draws);
            assert!(matches!(pipe.elements()[0], AnyElement::Pipe(_)));
            let is_fed = configs.len() < 3 && rng.bool();
            if is_fed {
                parts.feed();
                pipe.feed();
            }
            let [mut of_parts, mut of_pipe] = [seed, seed].map(|seed| Told {
                calls: Vec::new(),
                rng: Rng::with_seed(seed),
            });
            let mut now = start;
            for handle in 0..100 {
                // Often at a time at which something is due.
                now = match parts.next_at() {
                    Some(next) if rng.bool() && next > now => next,
                    _ => now + Delta::ns(rng.i64(0..4) * rng.i64(0..1_000_000)),
                };
                if rng.bool() {
                    let packet = packet(handle, rng.u32(40..=1_500));
                    parts.accept(now, packet, &mut of_parts);
                    pipe.accept(now, packet, &mut of_pipe);
                } else {
                    parts.advance(now, &mut of_parts);
                    pipe.advance(now, &mut of_pipe);
                }
                assert_eq!(of_parts.calls, of_pipe.calls, "{seed} {configs:?}");
                assert_eq!(parts.next_at(), pipe.next_at(), "{seed} {configs:?}");
                assert_eq!(parts.backlog(), pipe.backlog(), "{seed} {configs:?}");
                let [mut layers, mut same_layers] = [Vec::new(), Vec::new()];
                parts.each_layer(&mut |place, backlog| layers.push((place, backlog)));
                pipe.each_layer(&mut |place, backlog| same_layers.push((place, backlog)));
                assert_eq!(layers, same_layers, "{seed} {configs:?}");
            }
            assert_eq!(draws.u64(..), same_draws.u64(..));
            let calls = |word: &str| of_pipe.calls.iter().filter(|c| c.contains(word)).count();
            (dropped, fed) = (dropped + calls("Overflow"), fed + calls("next"));
        }
        assert!(dropped > 1_000 && fed > 1_000, "{dropped} {fed}");
    }
}
