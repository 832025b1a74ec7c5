//! REM: a price that rises with backlog and load, and a probability of marking that grows with the price.
//!
//! # References
//!
//! - Athuraliya, Low, Li, Yin, "REM: Active Queue Management", IEEE Network 15(3), 2001, pages 48-53.
//! - ns-2 `rem.cc` and `ns-default.tcl` for its defaults.
//!
//! # Where we differ
//!
//! 1. The mismatch of rates is taken from the growth of the backlog, as the paper proposes: the
//!    price moves by gamma (b - (1 - alpha) b_old - alpha b*). So the link's rate need not be known.
//!    ns-2 counts arrivals against a configured capacity; the two differ while the queue is empty.
//! 2. ns-2 draws for every packet even if marking is off; here a packet that cannot be marked is dropped.

use crate::event::Reason;
use crate::fifo::Fifo;
use crate::packet::Packet;
use crate::queue::{Backlog, Context, Queue};
use crate::ticker::Ticker;
use unbloat_params::params;
use unbloat_params::range::PERIOD;
use unbloat_units::{Delta, Time};

params! {
    /// The paper's and ns-2's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params: LinkSettings {
        /// Step of the price.
        pub gamma: f64 = 0.001 => within(0.0..=1_000.0);
        /// Weight of the backlog against the rate.
        pub alpha: f64 = 0.1 => within(0.0..=1_000.0);
        /// A packet passes with probability phi to the power of minus the price.
        pub phi: f64 = 1.001 => within(1.0..=1_000.0);
        /// Backlog to settle at, b*.
        pub target_packets: f64 = 20.0 => within(0.0..=1e6);
        /// Between two updates of the price.
        pub update: Delta = Delta::ms(2) => within(PERIOD);
        pub limit_packets: u32 = 1_000 => limit;
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = false;
    }
}

/// What is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub early_drops: u64,
    pub overflow_drops: u64,
    pub marks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    price: f64,
    probability: f64,
    old_packets: u32,
}

/// A REM queue.
#[derive(Clone, Debug)]
pub struct Rem {
    params: Params,
    state: State,
    fifo: Fifo,
    ticker: Ticker,
    stats: Stats,
}

impl Rem {
    pub fn new(params: Params) -> Rem {
        Rem {
            params,
            state: State::default(),
            fifo: Fifo::default(),
            ticker: Ticker::new(params.update, params.update),
            stats: Stats::default(),
        }
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    pub fn price(&self) -> f64 {
        self.state.price
    }

    /// The probability that a packet is dropped or marked.
    pub fn probability(&self) -> f64 {
        self.state.probability
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        while self.ticker.due(now).is_some() {
            self.update(1.0);
            if self.state.old_packets == 0 && self.fifo.packets() == 0 {
                // Empty for all of them: they take away the same each.
                let missed = self.ticker.skip(now);
                self.update(missed as f64);
            }
        }
    }

    /// As many updates as `times`, if nothing changes between them (the paper's equations 2 and 3).
    fn update(&mut self, times: f64) {
        let Params {
            gamma,
            alpha,
            phi,
            target_packets,
            ..
        } = self.params;
        let packets = self.fifo.packets();
        let growth = f64::from(packets) - f64::from(self.state.old_packets);
        let excess = f64::from(self.state.old_packets) - target_packets;
        let price = self.state.price + gamma * (growth + alpha * excess) * times;
        self.state = State {
            price: price.max(0.0),
            probability: 1.0 - phi.powf(-price.max(0.0)),
            old_packets: packets,
        };
    }
}

impl Queue for Rem {
    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Context<'_>) {
        self.catch_up(now);
        if self.fifo.packets() >= self.params.limit_packets {
            self.stats.overflow_drops += 1;
            return cx.dropped(now, packet, Reason::Overflow);
        }
        if self.state.probability > 0.0 && cx.rng.f64() < self.state.probability {
            if !self.params.ecn || !packet.ecn.is_capable() {
                self.stats.early_drops += 1;
                return cx.dropped(now, packet, Reason::Early);
            }
            self.stats.marks += 1;
            cx.mark(now, &mut packet, Reason::Early);
        }
        self.fifo.push(now, packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _cx: &mut Context<'_>) -> Option<Packet> {
        self.catch_up(now);
        self.fifo.pop()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowHash, IpLen};
    use crate::testkit::{bottleneck, paced};
    use unbloat_units::Rate;

    #[test]
    fn the_price_moves_by_growth_and_by_excess() {
        let mut queue = Rem::new(Params::default());
        let mut price_after = |packets| {
            (0..packets).for_each(|k| {
                let packet = Packet::new(k, IpLen::new(1_500), FlowHash(0));
                queue.fifo.push(Time::from_ns(0), packet);
            });
            queue.update(1.0);
            (queue.price() * 1e6).round()
        };
        // From 0 to 50: 0.001 * (50 + 0.1 * (0 - 20)); at 50: 0.001 * 0.1 * 30; to 60: 0.001 * (10 + 3).
        assert_eq!(price_after(50), 48_000.0);
        assert_eq!(price_after(0), 51_000.0);
        assert_eq!(price_after(10), 64_000.0);
        let want = 1.0 - 1.001_f64.powf(-0.064);
        assert!((queue.probability() - want).abs() < 1e-12);
    }

    #[test]
    fn a_steady_overload_settles_at_the_target_backlog_and_the_needed_price() {
        // 12 Mbit/s into 10: a sixth must go, so the price is ln(6/5) / ln(1.001) = 182.
        let arrivals = paced(Time::from_ns(0), Delta::ms(1), 400_000, 1_500);
        let mut rem = Rem::new(Params {
            gamma: 0.01,
            ..Params::default()
        });
        let run = bottleneck(&mut rem, Rate::mbps(10), arrivals);
        let late = run.sent.iter().skip(250_000);
        let waits: Vec<f64> = late
            .map(|(at, packet)| at.since(packet.enqueued).as_ms())
            .collect();
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        // 20 packets of 1.2 ms.
        assert!((mean - 24.0).abs() < 2.4, "{mean} ms");
        let lost = run.drops().iter().filter(|(k, _)| *k >= 300_000).count();
        let share = lost as f64 / 100_000.0;
        assert!((share - 1.0 / 6.0).abs() < 0.01, "{share}");
    }

    #[test]
    fn an_idle_queue_becomes_cheap_however_long_nobody_calls() {
        let mut rem = Rem::new(Params::default());
        let at = |ms| Time::from_ns(0) + Delta::ms(ms);
        rem.catch_up(at(0));
        rem.state.price = 1.0;
        // 0.002 less every 2 ms.
        rem.catch_up(at(500));
        assert!((rem.price() - 0.5).abs() < 1e-9, "{}", rem.price());
        rem.catch_up(at(1_000_000_000));
        assert_eq!((rem.price(), rem.probability()), (0.0, 0.0));
    }
}
