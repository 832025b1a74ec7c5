//! COBALT: CoDel and BLUE side by side; CAKE's control law.
//!
//! # References
//!
//! - Høiland-Jørgensen, Täht, Morton, "Piece of CAKE", 2018 (arXiv 1804.07617), section III-C.
//! - Feng et al., "BLUE: A New Class of Active Queue Management Algorithms", 1999.
//! - Linux 6.12 `net/sched/sch_cake.c`, functions `cobalt_*`.
//!
//! Against CoDel of RFC 8289: the count falls again by the same schedule instead of being forgotten,
//! the delay until the first signal is the first gap of the schedule, and time is in whole
//! nanoseconds. Roots of counts below 16 come from a table, because one Newton step from 1 to 2
//! overshoots (see [`super::codel::Root`]).
//!
//! # Where we differ
//!
//! 1. Linux multiplies the lower 32 bits of the interval; here all of them. It shows for intervals
//!    above 4.3 s, which CAKE sets below about 8 kbit/s.
//! 2. The same as Linux, though not as meant: a queue that was never used has an inverse root of 0,
//!    so its very first signal is due with the second packet above the target, not an interval later.

use crate::event::Reason;
use crate::fixed::{inverse_sqrt_step, scale};
use fastrand::Rng;
use unbloat_units::{Delta, Time};

/// What the shaper sets by its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    pub target: Delta,
    pub interval: Delta,
    /// How long the longest packet takes to send.
    pub mtu_time: Delta,
    /// Step of BLUE's probability up, in units of 2^-32.
    pub p_up: u32,
    /// And down.
    pub p_down: u32,
}

impl Params {
    /// 1/256 up and 1/4096 down.
    pub fn new(target: Delta, interval: Delta, mtu_time: Delta) -> Params {
        Params {
            target,
            interval,
            mtu_time,
            p_up: 1 << 24,
            p_down: 1 << 20,
        }
    }
}

/// What the law remembers of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    count: u32,
    /// 1/sqrt(count), in units of 2^-32.
    inverse_sqrt: u32,
    /// When the next signal is due; while nothing is wrong, until when the queue counts as active.
    drop_next: Time,
    /// When BLUE last changed its probability.
    blue_changed: Time,
    blue: u32,
    dropping: bool,
}

/// What is to happen to a packet: a mark and a drop may come together, as BLUE knows no marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub mark: bool,
    pub drop: Option<Reason>,
}

/// 2^32 / sqrt(n), which eight Newton steps give; 0 and 1 as close to 1 as the format allows.
const INVERSE_SQRT: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

impl State {
    /// Judges a packet that was taken from the queue and could be sent. `bulk_flows` is the number of
    /// flows that share a link whose other end does the dropping, else 0.
    #[inline]
    pub fn judge(
        &mut self,
        params: &Params,
        now: Time,
        sojourn: Delta,
        bulk_flows: u32,
        is_capable: bool,
        rng: &mut Rng,
    ) -> Verdict {
        let mut is_due = self.is_due(now);
        let mut is_late = now > self.drop_next;
        let is_over = sojourn > params.target
            && sojourn > params.mtu_time * (i64::from(bulk_flows) * 2)
            && sojourn > params.mtu_time * 4;
        if is_over {
            if !self.dropping {
                self.dropping = true;
                self.schedule_from(now, params);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let signal = is_due && self.dropping;
        if signal {
            self.count = self.count.saturating_add(1);
            self.follow_count();
            self.schedule_from(self.drop_next, params);
            is_late = now > self.drop_next;
        }
        while is_due && !signal {
            self.count -= 1;
            self.follow_count();
            self.schedule_from(self.drop_next, params);
            is_late = now > self.drop_next;
            is_due = self.is_due(now);
        }
        let mut drop = (signal && !is_capable).then_some(Reason::Sojourn);
        if self.blue > 0 && rng.u32(..) < self.blue {
            drop = drop.or(Some(Reason::Blue));
        }
        if self.count == 0 {
            self.drop_next = now + params.interval;
        } else if is_late && drop.is_none() {
            self.drop_next = now;
        }
        Verdict {
            mark: signal && is_capable,
            drop,
        }
    }

    /// The queue had to be cut for lack of memory.
    pub fn overflowed(&mut self, params: &Params, now: Time) {
        if now.since(self.blue_changed) > params.target {
            self.blue = self.blue.saturating_add(params.p_up);
            self.blue_changed = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue's turn came and it was empty.
    pub fn found_empty(&mut self, params: &Params, now: Time) {
        if self.blue > 0 && now.since(self.blue_changed) > params.target {
            self.blue = self.blue.saturating_sub(params.p_down);
            self.blue_changed = now;
        }
        self.dropping = false;
        if self.is_due(now) {
            self.count -= 1;
            self.follow_count();
            self.schedule_from(self.drop_next, params);
        }
    }

    /// Whether there is something left that time would change.
    pub fn is_active(&self, now: Time) -> bool {
        self.blue > 0 || self.count > 0 || now < self.drop_next
    }

    #[inline]
    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    fn schedule_from(&mut self, from: Time, params: &Params) {
        let interval = params.interval.as_ns() as u64;
        self.drop_next = from + Delta::ns(scale(interval, self.inverse_sqrt) as i64);
    }

    fn follow_count(&mut self) {
        self.inverse_sqrt = match INVERSE_SQRT.get(self.count as usize) {
            Some(root) => *root,
            None => inverse_sqrt_step(self.count, self.inverse_sqrt),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: Params = Params {
        target: Delta::ms(5),
        interval: Delta::ms(100),
        mtu_time: Delta::ms(1),
        p_up: 1 << 24,
        p_down: 1 << 20,
    };

    fn at(ms: i64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    #[test]
    fn the_table_holds_inverse_square_roots() {
        for (n, entry) in INVERSE_SQRT.iter().enumerate().skip(2) {
            let exact = 2_f64.powi(32) / (n as f64).sqrt();
            assert!((f64::from(*entry) - exact).abs() <= 1.0, "{n}");
        }
    }

    #[test]
    fn signals_follow_the_square_root_and_unwind_by_the_same_schedule() {
        let mut state = State {
            inverse_sqrt: u32::MAX,
            ..State::default()
        };
        let mut rng = Rng::with_seed(1);
        state.judge(&PARAMS, at(0), Delta::ZERO, 0, true, &mut rng);
        let mut signals = Vec::new();
        for ms in 1..1_000 {
            let verdict = state.judge(&PARAMS, at(ms), Delta::ms(10), 0, true, &mut rng);
            if verdict.mark {
                signals.push(ms);
            }
        }
        // From 1 ms on: 100, then 100/sqrt(2), 100/sqrt(3) ..., rounded up to whole ms.
        let mut due = 1.0_f64;
        let want: Vec<i64> = (1..)
            .map(|n| {
                due += 100.0 / f64::from(n).sqrt();
                due.ceil() as i64
            })
            .take_while(|ms| *ms < 1_000)
            .collect();
        // Above 16 a single Newton step is short by a little.
        assert!(
            signals
                .iter()
                .zip(&want)
                .all(|(got, exact)| got == exact || got + 1 == *exact)
        );
        assert_eq!((&signals[..16], signals.len()), (&want[..16], want.len()));
        let count = state.count;
        assert_eq!(count as usize, want.len() + 1);
        for ms in 1_000..1_100 {
            state.judge(&PARAMS, at(ms), Delta::ZERO, 0, true, &mut rng);
        }
        assert!(state.count < count && state.count > 0, "{}", state.count);
    }

    #[test]
    fn blue_rises_with_overflows_at_most_once_in_a_target_and_drops_capable_packets() {
        let mut state = State::default();
        for ms in 10..22 {
            state.overflowed(&PARAMS, at(ms));
        }
        assert_eq!(state.blue, 2 * PARAMS.p_up, "at 10 and at 16 ms");
        state.blue = u32::MAX;
        let mut rng = Rng::with_seed(1);
        let verdict = state.judge(&PARAMS, at(30), Delta::ZERO, 0, true, &mut rng);
        assert_eq!(verdict.drop, Some(Reason::Blue));
        state.blue = PARAMS.p_down;
        state.found_empty(&PARAMS, at(40));
        assert_eq!(state.blue, 0);
    }
}
