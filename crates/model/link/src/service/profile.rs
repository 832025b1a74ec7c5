//! A rate that changes in time, walked along by a server.

use super::work::{self, Ahead};
use unbloat_units::{Delta, Rate, Time};

/// A rate as a function of time, constant between changes at whole nanoseconds.
pub(crate) trait Profile {
    /// The rate at `now` and when it changes; `Time::MAX` for never. `now` never steps back.
    fn step(&mut self, now: Time) -> (Rate, Time);

    /// What is done from one point to a later one.
    fn work(&mut self, from: Time, until: Time) -> i128 {
        let (mut now, mut sum) = (from, 0);
        while now < until {
            let (rate, change) = self.step(now);
            let end = change.min(until);
            sum += work::done(rate, end - now);
            now = end;
        }
        sum
    }

    /// After how many changes of the rate a packet that is still not sent never will be.
    fn patience(&self) -> usize {
        1_000_000
    }

    /// Leaps over a stretch in which less than `work` is done, if one is known: how long it is and
    /// the work done in it.
    fn leap(&self, work: i128) -> (Delta, i128) {
        let _ = work;
        (Delta::ZERO, 0)
    }
}

/// When the work of a packet is done that is taken at `begin`: the point at which the integral of
/// the rate has reached it.
pub(crate) fn finish(
    profile: &mut impl Profile,
    ahead: &mut Ahead,
    begin: Time,
    wire_bytes: u64,
) -> Time {
    let mut left = ahead.take(wire_bytes);
    let (leap, leapt) = profile.leap(left);
    let mut now = begin + leap;
    left -= leapt;
    for _ in 0..profile.patience() {
        let (rate, until) = profile.step(now);
        let at = ahead.finish(now, left, rate);
        if at <= until {
            return at;
        }
        left -= work::done(rate, until - now);
        now = until;
    }
    Time::MAX
}
