//! The valve between the queue discipline and the driver.

use crate::bsr::Bsr;
use crate::rate::Drain;
use unbloat_params::defaults;
use unbloat_units::{Bytes, Delta, Rate, Time};

defaults! {
    /// 20 ms of delay, what LTE needs from a report to its block and half as much again; two full packets at the least, ten at first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// How long what is let through waits in the modem.
        pub target: Delta = Delta::ms(20);
        /// The least that a target may be: the time from a report to the block that it was granted (3GPP TS 36.321; 13 ms with reports
        /// each 5 ms). With less in its buffer a modem asks for too little, and is granted too little.
        pub floor: Delta = Delta::ms(15);
        /// Let through however slow the modem is.
        pub least: Bytes = Bytes::new(3_000);
        /// Let through before the modem had more than it could send.
        pub first: Bytes = Bytes::new(15_000);
        /// For how long the modem is taken to drain at its last rate without news; then a packet is let through each so often, because
        /// news may depend on packets.
        pub horizon: Delta = Delta::ms(200);
        /// What the packet that took the least had waited in the modem, which news by delay do not tell.
        pub grant: Delta = Delta::ZERO;
        /// After so long without a packet that took the least half of what the modem drains is let through for a `horizon`, so that one will.
        pub dip_after: Option<Delta> = None;
    }
}

impl Params {
    /// For news by delay:
    ///
    /// - An empty modem asks for a grant, and has a block 8 ms later (3GPP TS 36.213 sections 8 and 10.1.5: request in TTI n, grant in n + 4,
    ///   block in n + 8). So even the packet that took the least has waited for as long.
    /// - Without a packet that took the least in each half of the window of [`crate::Echoes`], what is always held would be taken for the way: after a
    ///   quarter of an hour of uploading, six times the target.
    /// - At least six full packets, for what is reckoned from news of a round trip ago is off by some. At a few Mbit/s a modem that runs out
    ///   of packets runs out of grants, and may ask again only after 320 ms (3GPP TS 36.321, retxBSR-Timer).
    pub fn of_delay() -> Params {
        Params {
            least: Bytes::new(9_000),
            grant: Delta::ms(8),
            dip_after: Some(Delta::secs(20)),
            ..Params::default()
        }
    }
}

/// What is known of the modem's buffer, from the best source to the poorest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupancy {
    /// Exactly, now: a report of the modem.
    Bytes(Bytes),
    /// By its level, now: taken to be its upper bound, beyond the last level what it was thought to be.
    Level(Bsr),
    /// Of `total` bytes that were let through since the start all had left the modem at `at`, the last of them after it had `waited`, not
    /// counting what even the packet that took the least waits (`grant`).
    /// It counts `grant` after `at`, but no later than now.
    Drained {
        at: Time,
        total: Bytes,
        waited: Delta,
    },
}

/// Says when a packet may leave the discipline. All sources come to one curve, bytes drained over time: its last point and its
/// slope tell what the modem holds now, its slope what it may hold.
#[derive(Clone, Debug)]
pub struct Valve {
    params: Params,
    drain: Drain,
    released: i64,
    released_at: Time,
    drained: i64,
    drained_at: Time,
    dip: Dip,
}

/// The last time that little was let through, and how much had been before; and when a packet last took the least.
#[derive(Clone, Copy, Debug)]
struct Dip {
    since: Time,
    from: i64,
    least_at: Time,
}

impl Valve {
    pub fn new(params: Params, start: Time) -> Valve {
        Valve {
            params,
            drain: Drain::new(start),
            released: 0,
            released_at: start,
            drained: 0,
            drained_at: start,
            dip: Dip {
                since: start - params.horizon,
                from: 0,
                least_at: start,
            },
        }
    }

    /// A packet has left the discipline.
    pub fn released(&mut self, now: Time, bytes: Bytes) {
        self.released = self.released.saturating_add(signed(bytes));
        self.released_at = now;
        let quiet = now - self.dip.since.max(self.dip.least_at);
        if self.params.dip_after.is_some_and(|after| quiet >= after) {
            (self.dip.since, self.dip.from) = (now, self.released);
        }
    }

    /// What is let through in a dip, while it lasts.
    fn dips(&self, now: Time) -> Option<Rate> {
        let lasts = now - self.dip.since < self.params.horizon;
        lasts.then(|| Rate::bps(self.drain.pace().as_bps() / 2))
    }

    /// When a dip lets the next packet through.
    fn dips_until(&self, now: Time) -> Time {
        let Some(pace) = self.dips(now) else {
            return now;
        };
        let through = self.released.saturating_sub(self.dip.from);
        let wait = match pace {
            Rate::ZERO => self.params.horizon,
            pace => (Bytes::new(through.max(0) as u64) / pace).min(self.params.horizon),
        };
        self.dip.since + wait
    }

    /// Takes in news of the modem.
    pub fn learn(&mut self, now: Time, occupancy: Occupancy) {
        let (at, left, drained, is_busy) = match occupancy {
            Occupancy::Bytes(held) => (now, now, self.without(held), held > Bytes::ZERO),
            Occupancy::Level(level) => {
                let held = level.upper_bound().unwrap_or_else(|| {
                    let beyond = level.granted_for() + Bytes::new(1);
                    beyond.max(self.held(now))
                });
                (now, now, self.without(held), held > Bytes::ZERO)
            }
            Occupancy::Drained { at, total, waited } => {
                let (left, grant) = (at - waited, self.params.grant);
                if waited <= Delta::ZERO {
                    self.dip.least_at = now;
                }
                let is_busy = waited + grant > self.params.floor;
                ((at + grant).min(now), left, signed(total), is_busy)
            }
        };
        if at < self.drained_at {
            return;
        }
        (self.drained, self.drained_at) = (drained.min(self.released), at);
        self.drain.learn(at, left, self.drained, is_busy);
    }

    fn without(&self, held: Bytes) -> i64 {
        self.released.saturating_sub(signed(held))
    }

    /// How fast the modem drains, once it is known.
    pub fn rate(&self) -> Option<Rate> {
        self.drain.rate()
    }

    /// What the modem is thought to hold.
    pub fn held(&self, now: Time) -> Bytes {
        let since = (now - self.drained_at).min(self.params.horizon);
        Bytes::new(self.released.saturating_sub(self.drained).max(0) as u64)
            - self.drain.pace() * since
    }

    /// What it may hold.
    pub fn limit(&self) -> Bytes {
        let Params {
            target,
            floor,
            least,
            first,
            ..
        } = self.params;
        let can = self.rate().unwrap_or(Rate::ZERO) * target.max(floor);
        can.max(match self.drain.is_known() {
            true => least,
            false => least.max(first),
        })
    }

    /// Whether a packet may leave now; the last one may go beyond the limit, as with byte queue limits.
    pub fn is_open(&self, now: Time) -> bool {
        let has_room = self.held(now) < self.limit() && self.dips_until(now) <= now;
        has_room || now >= self.tries_at()
    }

    /// The rate at which packets may leave so that the modem comes to its limit within `over`: for whoever can set a rate, but not
    /// hold single packets.
    pub fn pace(&self, now: Time, over: Delta) -> Rate {
        let Params { least, horizon, .. } = self.params;
        let (held, limit) = (self.held(now).as_u64() as f64, self.limit().as_u64() as f64);
        let pace = self.drain.pace().as_bps_f64() + (limit - held) * 8.0 / over.as_secs();
        let slowest = least.as_u64() as f64 * 8.0 / horizon.as_secs();
        let most = self.dips(now).map_or(f64::INFINITY, Rate::as_bps_f64);
        Rate::from_bps_f64(pace.min(most).max(slowest))
    }

    /// When a packet may leave if nothing is heard until then; after `now`.
    pub fn opens_at(&self, now: Time) -> Time {
        let held = self.released.saturating_sub(self.drained);
        let excess = held.saturating_sub(signed(self.limit())).saturating_add(1);
        let wait = match self.drain.pace() {
            Rate::ZERO => Delta::secs(3_600),
            pace => Bytes::new(excess.max(0) as u64) / pace,
        };
        let at = match wait <= self.params.horizon {
            true => self.drained_at + wait,
            false => self.tries_at(),
        };
        let at = at.max(self.dips_until(now)).min(self.tries_at());
        at.max(now + Delta::us(1))
    }

    fn tries_at(&self) -> Time {
        self.released_at.max(self.drained_at) + self.params.horizon
    }

    pub fn params(&self) -> &Params {
        &self.params
    }
}

fn signed(bytes: Bytes) -> i64 {
    i64::try_from(bytes.as_u64()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_us(us: i64) -> Time {
        Time::from_ns(us * 1_000)
    }

    /// A modem of a constant rate that is never short of packets above the valve: bytes held each ms from half a second on, and
    /// bytes sent in 3 s.
    fn run(
        params: Params,
        rate: impl Fn(i64) -> f64,
        source: impl Fn(Bytes) -> Occupancy,
    ) -> (Vec<u64>, u64) {
        let mut valve = Valve::new(params, at_us(0));
        let (mut held, mut sent, mut seen) = (0.0f64, 0.0, Vec::new());
        for ms in 0..3_000 {
            let now = at_us(ms * 1_000);
            if ms % 5 == 0 {
                valve.learn(now, source(Bytes::new(held as u64)));
            }
            while valve.is_open(now) {
                valve.released(now, Bytes::new(1_500));
                held += 1_500.0;
            }
            assert!(valve.opens_at(now) > now);
            let out = held.min(rate(ms) / 8e3);
            (held, sent) = (held - out, sent + out);
            if ms >= 500 {
                seen.push(held as u64);
            }
        }
        (seen, sent as u64)
    }

    fn twenty() -> Params {
        Params {
            target: Delta::ms(20),
            ..Params::default()
        }
    }

    fn bsr(held: Bytes) -> Occupancy {
        Occupancy::Level(Bsr::of(held))
    }

    #[test]
    fn the_modem_holds_its_target_and_is_never_empty() {
        for source in [Occupancy::Bytes as fn(Bytes) -> Occupancy, bsr] {
            for rate in [1e6, 8e6, 50e6] {
                let (held, sent) = run(twenty(), |_| rate, source);
                let target = (rate / 8.0 * 0.02).max(3_000.0);
                let most = held.iter().max().unwrap();
                assert!((*most as f64) < 1.2 * target + 1_500.0, "{rate}: {most}");
                assert!(held.iter().all(|held| *held > 0), "{rate}");
                assert!(sent as f64 > 0.98 * rate / 8.0 * 3.0, "{rate}: {sent}");
            }
        }
    }

    #[test]
    fn a_rate_that_falls_to_a_tenth_is_followed_and_so_is_one_that_comes_back() {
        let rate = |ms: i64| if ms / 1_000 == 1 { 1e6 } else { 10e6 };
        let (held, sent) = run(twenty(), rate, Occupancy::Bytes);
        // 25,000 bytes were let through for 20 ms; once samples of the old rate are gone 3,000 are, and at the old rate 25,000 again.
        assert!(held[1_400] <= 4_500, "{}", held[1_400]);
        assert!(held[2_000] > 20_000, "{}", held[2_000]);
        assert!(sent as f64 > 0.95 * 21e6 / 8.0, "{sent}");
    }

    #[test]
    fn what_is_beyond_the_last_level_is_not_taken_for_less_than_it_was() {
        let params = Params {
            target: Delta::ms(100),
            ..twenty()
        };
        // 100 ms of 20 Mbit/s are 250,000 bytes, 150,000 are seen.
        let (held, sent) = run(params, |_| 20e6, bsr);
        assert!(held.iter().all(|held| (100_000..=300_000).contains(held)));
        assert!(sent as f64 > 0.98 * 20e6 / 8.0 * 3.0, "{sent}");
    }

    #[test]
    fn a_source_that_has_fallen_silent_leaves_a_packet_each_horizon() {
        let mut valve = Valve::new(twenty(), at_us(0));
        let mut released = Vec::new();
        for ms in 0..1_000 {
            let now = at_us(ms * 1_000);
            while valve.is_open(now) {
                valve.released(now, Bytes::new(1_500));
                released.push(ms);
            }
        }
        assert_eq!(released[..10], [0; 10]);
        assert_eq!(released[10..], [200, 400, 600, 800]);
    }

    #[test]
    fn a_modem_that_never_had_more_than_it_could_send_is_not_held_to_what_it_sent() {
        let mut valve = Valve::new(twenty(), at_us(0));
        // A few pings in half a minute.
        for second in 0..30 {
            valve.released(at_us(second * 1_000_000), Bytes::new(100));
            for (ms, held) in [(5, 100), (10, 100), (15, 0)] {
                let held = Occupancy::Bytes(Bytes::new(held));
                valve.learn(at_us(second * 1_000_000 + ms * 1_000), held);
            }
        }
        assert!(valve.rate().is_some_and(|rate| rate < Rate::mbps(1)));
        assert_eq!(valve.limit(), Bytes::new(15_000));
    }

    #[test]
    fn news_of_what_is_to_come_are_news_of_now() {
        let mut valve = Valve::new(twenty(), at_us(0));
        valve.released(at_us(0), Bytes::new(1_500));
        let told = Occupancy::Drained {
            at: at_us(8_000),
            total: Bytes::new(1_500),
            waited: Delta::ms(8),
        };
        valve.learn(at_us(2_000), told);
        valve.released(at_us(3_000), Bytes::new(1_500));
        assert_eq!(valve.held(at_us(3_000)), Bytes::new(1_500));
        // Earlier than the first, and later.
        valve.learn(at_us(4_000), told);
        assert_eq!(valve.held(at_us(4_000)), Bytes::new(1_500));
    }

    #[test]
    fn the_pace_is_what_the_modem_drains_once_it_holds_its_limit() {
        let mut valve = Valve::new(twenty(), at_us(0));
        // 8 and 12 Mbit/s by turns.
        let mut held = 0;
        for ms in (0..1_000).step_by(20) {
            let drained = if ms % 40 == 0 { 20_000 } else { 30_000 };
            valve.released(at_us(ms * 1_000), Bytes::new(30_000 - held + drained));
            held = 30_000;
            valve.learn(at_us((ms + 20) * 1_000), Occupancy::Bytes(Bytes::new(held)));
        }
        assert_eq!(valve.limit(), Bytes::new(30_000));
        let pace = valve.pace(at_us(1_000_000), Delta::ms(30));
        assert!((9.9e6..10.1e6).contains(&pace.as_bps_f64()), "{pace}");
    }

    #[test]
    fn in_a_dip_half_of_what_is_drained_passes() {
        let params = Params {
            dip_after: Some(Delta::secs(1)),
            ..twenty()
        };
        let (held, sent) = run(params, |_| 8e6, Occupancy::Bytes);
        // From half a second on; dips begin after 1, 2 and 3 s.
        let empty = |ms: i64| held[(ms - 500) as usize..][..200].contains(&0);
        assert_eq!(
            [1_000, 1_300, 2_000, 2_300].map(empty),
            [true, false, true, false]
        );
        // Of each 200 ms in which half passes the modem has 20 ms in store.
        assert!((2.75e6..2.9e6).contains(&(sent as f64)), "{sent}");
        let (without, _) = run(twenty(), |_| 8e6, Occupancy::Bytes);
        assert!(!without.contains(&0));
    }

    #[test]
    fn a_target_below_the_floor_is_the_floor() {
        let limit = |target| {
            let params = Params { target, ..twenty() };
            let mut valve = Valve::new(params, at_us(0));
            valve.released(at_us(0), Bytes::new(30_000));
            valve.learn(at_us(20_000), Occupancy::Bytes(Bytes::new(10_000)));
            valve.limit()
        };
        assert_eq!(limit(Delta::ms(2)), Bytes::new(15_000));
        assert_eq!(limit(Delta::ms(50)), Bytes::new(50_000));
    }
}
