//! A link rate that is constant or steps through a list.

use unbloat_units::{Delta, Rate, Time};

/// Rates that follow one another, each for the same span, over and over.
///
/// A rate of zero stalls the link for that step.
#[derive(Clone, Debug)]
pub struct RateSchedule {
    origin: Time,
    every: Delta,
    rates: Vec<Rate>,
}

impl RateSchedule {
    pub fn constant(rate: Rate) -> RateSchedule {
        RateSchedule::stepping(Delta::secs(3600), vec![rate])
    }

    /// # Panics
    /// When no rate is above zero or `every` is not positive: such a link never delivers.
    pub fn stepping(every: Delta, rates: Vec<Rate>) -> RateSchedule {
        assert!(rates.iter().any(|r| *r > Rate::ZERO), "a link needs a rate");
        assert!(every > Delta::ZERO, "a step needs a length");
        RateSchedule {
            origin: Time::default(),
            every,
            rates,
        }
    }

    /// The same steps, the first of them starting at `origin`.
    pub fn starting_at(mut self, origin: Time) -> RateSchedule {
        self.origin = origin;
        self
    }

    /// The rate at `now` and the time at which its step ends.
    pub fn step(&self, now: Time) -> (Rate, Time) {
        let steps = now
            .since(self.origin)
            .as_ns()
            .div_euclid(self.every.as_ns());
        let index = steps.rem_euclid(self.rates.len() as i64) as usize;
        (self.rates[index], self.origin + self.every * (steps + 1))
    }

    /// When the last bit of `ip_bytes` has left if the first one leaves at `start`, the steps in
    /// between taken exactly; rounded up to 1 ns.
    pub fn finish(&self, start: Time, ip_bytes: u32) -> Time {
        let mut left = i128::from(ip_bytes) * 8 * 1_000_000_000;
        let mut now = start;
        loop {
            let (rate, end) = self.step(now);
            let bps = i128::from(rate.as_bps());
            let carried = bps * i128::from(end.since(now).as_ns());
            if carried >= left {
                return now + Delta::ns(((left + bps - 1) / bps.max(1)) as i64);
            }
            left -= carried;
            now = end;
        }
    }

    /// Every change of rate in a span, the rate at its start first.
    pub fn changes(&self, from: Time, until: Time) -> Vec<(Time, Rate)> {
        let mut changes: Vec<(Time, Rate)> = Vec::new();
        let mut now = from;
        while now < until {
            let (rate, end) = self.step(now);
            if changes.last().is_none_or(|(_, last)| *last != rate) {
                changes.push((now, rate));
            }
            now = end;
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> Time {
        Time::default() + Delta::ms(ms)
    }

    #[test]
    fn a_packet_takes_its_bits_over_the_rate() {
        let link = RateSchedule::constant(Rate::mbps(12));
        assert_eq!(link.finish(at_ms(5), 1500), at_ms(6));
    }

    #[test]
    fn a_packet_across_a_step_is_sent_at_both_rates() {
        let rates = vec![Rate::mbps(12), Rate::mbps(6)];
        let link = RateSchedule::stepping(Delta::ms(500), rates);
        let start = at_ms(500) - Delta::us(500);
        assert_eq!(link.finish(start, 1500), at_ms(501));
    }

    #[test]
    fn a_stalled_step_delays_and_loses_nothing() {
        let rates = vec![Rate::ZERO, Rate::mbps(12)];
        let link = RateSchedule::stepping(Delta::ms(500), rates).starting_at(at_ms(100));
        assert_eq!(link.finish(at_ms(100), 1500), at_ms(601));
        assert_eq!(link.changes(at_ms(100), at_ms(1200)).len(), 3);
    }
}
