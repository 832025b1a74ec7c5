//! DualPI2: one queue for L4S and one for classic traffic, coupled so that flows of both get equal shares.
//!
//! # References
//!
//! - RFC 9332 and its appendix A; RFC 9331 for what counts as L4S.
//! - Linux 6.17 `net/sched/sch_dualpi2.c`. The law is [`crate::law::pi2`].
//!
//! # Where we differ
//!
//! | # | theirs | ours | why |
//! |---|---|---|---|
//! | 1 | RFC appendix A: L4S packets are marked on a ramp or by the coupled probability, whichever is more | Linux: by the coupled probability, then by a step of 1 ms | what is deployed |
//! | 2 | RFC: time-shifted FIFO or weighted round robin | Linux: L4S first, with a credit that leaves 10 % to classic | the same |
//! | 3 | RFC: `Tupdate` 15 ms, alpha 0.15, beta 3 | Linux: 16 ms, 0.16, 3.2 | the same |
//! | 4 | Linux: the timer starts with the queue | with its first packet | a queue has no time before |
//! | 5 | Linux: memory by true size, twice the MTU for each packet of the limit | by the rule of [`Device::memory`] | |
//! | 6 | Linux: the credit is reset when an empty queue is asked | when a packet finds both queues empty | a driver need not ask an empty queue |
//! | 7 | Linux: dropping at enqueue, step in packets, least queue for the step, filters | left out | nothing here needs them |
//! | 8 | Linux counts a packet twice that is marked by chance and above the step | one mark | one packet, one event |

use crate::device::Device;
use crate::event::Reason;
use crate::fifo::Fifo;
use crate::law::pi2::{Law, Params as Pi2, Prob, State};
use crate::packet::Packet;
use crate::queue::{Backlog, Context, Queue};
use crate::ticker::Ticker;
use unbloat_params::params;
use unbloat_params::range::{PERIOD, SIZE, SPAN};
use unbloat_units::{Bytes, Delta, Time};

params! {
    /// As in Linux.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params: LinkSettings {
        pub pi2: Pi2 = Pi2::default() => part;
        /// Between two updates of the base probability.
        pub t_update: Delta = Delta::ms(16) => within(PERIOD);
        /// How many times the base probability L4S packets are marked with: k of RFC 9332.
        pub coupling: u32 = 2 => within(0..=255);
        /// L4S packets that waited for longer are marked.
        pub step: Delta = Delta::ms(1) => within(SPAN);
        /// What classic traffic gets at least, in percent.
        pub classic_share: u32 = 10 => within("classic_percent", 0..=100);
        /// Whether packets of both kinds are dropped when the coupled probability is above 1; else
        /// L4S packets are marked and the queue may overflow.
        pub drop_on_overload: bool = true;
        pub limit_packets: u32 = 10_000 => limit;
        pub memory_limit: Bytes = Bytes::new(10_000 * 2 * 1_514) => within(SIZE);
        pub device: Device = Device::ETHERNET => part;
    }
}

/// What is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub classic_packets: u64,
    pub l4s_packets: u64,
    pub early_drops: u64,
    pub overflow_drops: u64,
    /// Marked by chance.
    pub marks: u64,
    /// Marked for having waited.
    pub step_marks: u64,
}

/// A DualPI2 queue.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    params: Params,
    law: Law,
    state: State,
    l4s: Fifo,
    classic: Fifo,
    memory: u64,
    /// Positive when it is the classic queue's turn.
    credit: i64,
    ticker: Ticker,
    stats: Stats,
}

/// What chance has done to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Luck {
    Passes,
    Marked,
    Dropped,
}

impl DualPi2 {
    pub fn new(params: Params) -> DualPi2 {
        DualPi2 {
            law: Law::new(&params.pi2),
            state: State::default(),
            l4s: Fifo::default(),
            classic: Fifo::default(),
            memory: 0,
            credit: 0,
            ticker: Ticker::new(params.t_update, params.t_update),
            stats: Stats::default(),
            params,
        }
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The base probability, p' of RFC 9332.
    #[cfg(test)]
    fn base_probability(&self) -> f64 {
        self.state.base().as_f64()
    }

    fn packets(&self) -> u32 {
        self.l4s.packets() + self.classic.packets()
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        while let Some(tick) = self.ticker.due(now) {
            let wait = |fifo: &Fifo| {
                fifo.head()
                    .map_or(Delta::ZERO, |packet| tick.since(packet.enqueued))
            };
            let delay = wait(&self.l4s).max(wait(&self.classic));
            let most = if self.params.drop_on_overload {
                Prob(u32::MAX)
            } else {
                Prob(u32::MAX / self.params.coupling.max(1))
            };
            self.state.update(&self.law, delay, most);
            if self.packets() == 0 && self.state.is_at_rest() {
                self.ticker.skip(now);
            }
        }
    }

    /// Takes a packet from the queue whose turn it is; what it does to the credit if it is sent.
    #[inline]
    fn take(&mut self) -> Option<(Packet, i64)> {
        let has_classic = self.classic.packets() > 0;
        let has_l4s = self.l4s.packets() > 0;
        let (packet, weight) = if has_l4s && (!has_classic || self.credit <= 0) {
            let share = i64::from(self.params.classic_share);
            (self.l4s.pop()?, if has_classic { share } else { 0 })
        } else {
            let share = 100 - i64::from(self.params.classic_share);
            (self.classic.pop()?, if has_l4s { -share } else { 0 })
        };
        self.memory -= u64::from(self.params.device.memory(&packet));
        let change = weight * i64::from(self.params.device.frame(&packet));
        Some((packet, change))
    }

    /// Draws for the packet and marks it, if it is to be marked (RFC 9332 appendix A.1).
    #[inline]
    fn draw(&mut self, now: Time, packet: &mut Packet, cx: &mut Context<'_>) -> Luck {
        let frames = self.params.device.frames(self.backlog());
        if frames < u64::from(2 * self.params.device.frame_mtu()) {
            return Luck::Passes;
        }
        let base = self.state.base();
        let luck = match (packet.ecn.is_l4s(), base.times(self.params.coupling)) {
            (true, Some(coupled)) if coupled.hits(cx.rng) => Luck::Marked,
            (true, Some(_)) => Luck::Passes,
            (true, None) if self.params.drop_on_overload && base.hits_squared(cx.rng) => {
                Luck::Dropped
            }
            (true, None) => Luck::Marked,
            (false, _) if !base.hits_squared(cx.rng) => Luck::Passes,
            (false, Some(_)) if packet.ecn.is_capable() => Luck::Marked,
            (false, _) => Luck::Dropped,
        };
        if luck == Luck::Marked {
            self.stats.marks += 1;
            cx.mark(now, packet, Reason::Early);
        }
        luck
    }

    /// Marks a packet of the L4S queue that waited for too long.
    #[inline]
    fn apply_step(&mut self, now: Time, packet: &mut Packet, cx: &mut Context<'_>) {
        if packet.ecn.is_l4s() && now.since(packet.enqueued) > self.params.step {
            self.stats.step_marks += 1;
            cx.mark(now, packet, Reason::Step);
        }
    }
}

impl Queue for DualPi2 {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Context<'_>) {
        self.catch_up(now);
        let memory = u64::from(self.params.device.memory(&packet));
        let is_full = self.packets() >= self.params.limit_packets;
        if is_full || self.memory + memory > self.params.memory_limit.as_u64() {
            self.stats.overflow_drops += 1;
            return cx.dropped(now, packet, Reason::Overflow);
        }
        if self.packets() == 0 {
            // L4S begins.
            let share = i64::from(self.params.classic_share);
            self.credit = i64::from(self.params.device.frame_mtu()) * (2 * share - 100);
        }
        self.memory += memory;
        if packet.ecn.is_l4s() {
            self.stats.l4s_packets += 1;
            self.l4s.push(now, packet);
        } else {
            self.stats.classic_packets += 1;
            self.classic.push(now, packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, cx: &mut Context<'_>) -> Option<Packet> {
        self.catch_up(now);
        loop {
            let (mut packet, change) = self.take()?;
            match self.draw(now, &mut packet, cx) {
                Luck::Passes => self.apply_step(now, &mut packet, cx),
                Luck::Marked => {}
                Luck::Dropped => {
                    self.stats.early_drops += 1;
                    cx.dropped(now, packet, Reason::Early);
                    continue;
                }
            }
            self.credit += change;
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        let (l4s, classic) = (self.l4s.backlog(), self.classic.backlog());
        Backlog {
            packets: l4s.packets + classic.packets,
            bytes: l4s.bytes + classic.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ecn, FlowHash, IpLen};
    use crate::testkit::{Run, bottleneck, paced};
    use unbloat_units::Rate;

    fn packet(handle: u32, ecn: Ecn) -> Packet {
        Packet {
            ecn,
            ..Packet::new(handle, IpLen::new(1_500), FlowHash(0))
        }
    }

    #[test]
    fn l4s_goes_first_and_classic_gets_a_tenth() {
        let mut queue = DualPi2::new(Params {
            step: Delta::secs(9),
            ..Params::default()
        });
        let arrivals = (0..400).map(|k| {
            let ecn = if k % 2 == 0 { Ecn::Ect1 } else { Ecn::Ect0 };
            (Time::from_ns(0), packet(k, ecn))
        });
        let run = bottleneck(&mut queue, Rate::mbps(1_000), arrivals);
        let first: Vec<bool> = run.sent[..200]
            .iter()
            .map(|(_, p)| p.ecn.is_l4s())
            .collect();
        // The credit begins at -80 MTU, each L4S packet adds 10, each classic one takes 90:
        // nine L4S packets up to the first classic one, then nine for each.
        assert_eq!(first.iter().position(|is_l4s| !is_l4s), Some(9));
        assert_eq!(first.iter().filter(|is_l4s| !**is_l4s).count(), 20);
        assert_eq!(run.sent.len(), 400);
    }

    #[test]
    fn l4s_packets_above_the_step_are_marked_and_classic_ones_are_not() {
        for (ecn, marks) in [(Ecn::Ect1, vec![3, 4, 5]), (Ecn::Ect0, Vec::new())] {
            let arrivals = (0..6).map(|k| (Time::from_ns(0), packet(k, ecn)));
            let mut queue = DualPi2::new(Params::default());
            // 0.4 ms a packet: 3 waited for 1.2 ms.
            let run = bottleneck(&mut queue, Rate::mbps(30), arrivals);
            let marked: Vec<u32> = run.marks().iter().map(|(handle, _)| *handle).collect();
            assert_eq!(marked, marks);
            assert!(
                run.marks()
                    .iter()
                    .all(|(_, reason)| *reason == Reason::Step)
            );
        }
    }

    fn overload(ecn: Ecn, drop_on_overload: bool) -> (Run, DualPi2) {
        let arrivals = paced(Time::from_ns(0), Delta::us(960), 20_000, 1_500)
            .map(move |(at, p)| (at, Packet { ecn, ..p }));
        let mut queue = DualPi2::new(Params {
            drop_on_overload,
            limit_packets: 500,
            ..Params::default()
        });
        let run = bottleneck(&mut queue, Rate::mbps(10), arrivals);
        (run, queue)
    }

    #[test]
    fn classic_traffic_without_ecn_is_dropped_with_the_square_of_the_base() {
        let (run, _) = overload(Ecn::NotEct, true);
        let late: Vec<f64> = run.sent[8_000..15_000]
            .iter()
            .map(|(at, packet)| at.since(packet.enqueued).as_ms())
            .collect();
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((mean - 15.0).abs() < 1.5, "{mean} ms");
        let share = run.drops().len() as f64 / 20_000.0;
        assert!((0.17..0.21).contains(&share), "a fifth must go: {share}");
    }

    #[test]
    fn on_overload_l4s_is_dropped_or_overflows_as_asked() {
        let (dropping, _) = overload(Ecn::Ect1, true);
        assert!(dropping.drops().iter().all(|(_, r)| *r == Reason::Early));
        assert!(dropping.drops().len() > 3_000);
        let (marking, queue) = overload(Ecn::Ect1, false);
        assert!(marking.drops().iter().all(|(_, r)| *r == Reason::Overflow));
        assert!(queue.base_probability() <= 0.5);
    }
}
