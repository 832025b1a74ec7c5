//! How fast a modem drains, from how much it has drained so far.

use std::collections::VecDeque;
use unbloat_units::{Delta, Rate, Time};

/// One sample is taken over at least this: two rounds of HARQ (16 ms) and the steps of buffer status reports even out.
const SPAN: Delta = Delta::ms(20);
/// The rate is the greatest of so many samples. A mean would not do: a modem that we keep short waits for grants, a mean takes it for a slow
/// one, and it is kept shorter still.
const SAMPLES: usize = 16;
/// What it drains until the next report is reckoned by the mean of so many: a block that comes late, and others with it, raises the greatest
/// rate by half, and what is reckoned with too great a rate stays in the modem. 200 ms, for that is what may be reckoned at once (`horizon`).
const RECENT: usize = 10;

/// The drain rate. Samples taken while the modem had nothing to send for some of the time say only that the rate is no less.
#[derive(Clone, Debug)]
pub struct Drain {
    since: Time,
    since_left: Time,
    from: i64,
    is_busy: bool,
    was_busy: bool,
    /// Bytes a second, oldest first.
    samples: VecDeque<f64>,
    /// As `samples`, but for what a sample has to exceed if it was not taken of a busy modem.
    recent: VecDeque<f64>,
}

impl Drain {
    pub fn new(start: Time) -> Drain {
        Drain {
            since: start,
            since_left: start,
            from: 0,
            is_busy: false,
            was_busy: false,
            samples: VecDeque::with_capacity(SAMPLES),
            recent: VecDeque::with_capacity(RECENT),
        }
    }

    /// By `at` the modem has drained `total` bytes since the start, the last of which had come to it at `left`, and had some more
    /// (`is_busy`). Sums may step back, as those of coarse reports do.
    ///
    /// The greatest rate is of what has come to the modem over no less a time: late blocks come in one burst, of packets that were sent one
    /// by one (draft-cheng-iccrg-delivery-rate-estimation bounds its samples so).
    pub fn learn(&mut self, at: Time, left: Time, total: i64, is_busy: bool) {
        let span = at - self.since;
        self.is_busy &= is_busy;
        if span < SPAN {
            return;
        }
        let bytes = total.saturating_sub(self.from).max(0) as f64;
        let least = bytes / span.max(left - self.since_left).as_secs();
        if least > 0.0 && (self.is_busy || least > self.most()) {
            keep(&mut self.samples, SAMPLES, least);
        }
        let drained = bytes / span.as_secs();
        if drained > 0.0 && (self.is_busy || drained > mean(&self.recent)) {
            keep(&mut self.recent, RECENT, drained);
        }
        self.was_busy |= self.is_busy;
        (self.since, self.since_left) = (at, left);
        (self.from, self.is_busy) = (total, is_busy);
    }

    /// Whether the modem has ever had more than it could send: before, no rate is too great for it.
    pub fn is_known(&self) -> bool {
        self.was_busy
    }

    fn most(&self) -> f64 {
        self.samples.iter().copied().fold(0.0, f64::max)
    }

    /// The greatest rate of late: what the modem can.
    pub fn rate(&self) -> Option<Rate> {
        let is_known = !self.samples.is_empty();
        is_known.then(|| Rate::from_bps_f64(self.most() * 8.0))
    }

    /// The mean of late: what it does. Nothing before the first sample.
    pub fn pace(&self) -> Rate {
        Rate::from_bps_f64(mean(&self.recent) * 8.0)
    }
}

fn keep(samples: &mut VecDeque<f64>, most: usize, sample: f64) {
    if samples.len() == most {
        samples.pop_front();
    }
    samples.push_back(sample);
}

fn mean(samples: &VecDeque<f64>) -> f64 {
    samples.iter().sum::<f64>() / samples.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    /// Bytes drained by each 5 ms of a second.
    fn over(busy: impl Fn(i64) -> bool, total: impl Fn(i64) -> i64) -> f64 {
        let mut drain = Drain::new(at_ms(0));
        for ms in (5..=1_000).step_by(5) {
            drain.learn(at_ms(ms), at_ms(ms), total(ms), busy(ms));
        }
        drain.rate().unwrap().as_bps_f64() / 1e6
    }

    #[test]
    fn a_steady_drain_is_its_rate() {
        assert!((over(|_| true, |ms| ms * 1_000) - 8.0).abs() < 1e-6);
    }

    #[test]
    fn a_busy_modem_that_slows_down_is_followed_within_sixteen_samples() {
        let total = |ms: i64| ms.min(670) * 1_000 + (ms - 670).max(0) * 100;
        let rate = over(|_| true, total);
        assert!((0.8..0.81).contains(&rate), "{rate}");
    }

    #[test]
    fn a_modem_that_has_nothing_to_send_keeps_its_rate() {
        let rate = over(|ms| ms <= 500, |ms| ms.min(500) * 1_000);
        assert!((rate - 8.0).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn bursts_raise_the_rate_but_not_the_pace() {
        // 4 and 12 Mbit/s by turns, 20 ms each.
        let total = |ms: i64| ms / 40 * 40_000 + ms % 40 * 500 + (ms % 40 - 20).max(0) * 1_000;
        let mut drain = Drain::new(at_ms(0));
        for ms in (5..=1_000).step_by(5) {
            drain.learn(at_ms(ms), at_ms(ms), total(ms), true);
        }
        let [rate, pace] =
            [drain.rate().unwrap(), drain.pace()].map(|rate| rate.as_bps_f64() / 1e6);
        assert!((rate - 12.0).abs() < 1e-6, "{rate}");
        assert!((pace - 8.0).abs() < 1e-6, "{pace}");
    }

    #[test]
    fn what_comes_at_once_has_the_rate_at_which_it_was_sent() {
        // 1,000 bytes each ms; each fifth block of 20 ms is late by 15 ms, and what was behind it comes with it.
        let mut drain = Drain::new(at_ms(0));
        for ms in 1..=1_000 {
            let late = if ms % 100 < 15 { 15 - ms % 100 } else { 0 };
            drain.learn(at_ms(20 + ms + late), at_ms(ms), ms * 1_000, true);
        }
        let [rate, pace] =
            [drain.rate().unwrap(), drain.pace()].map(|rate| rate.as_bps_f64() / 1e6);
        assert!((rate - 8.0).abs() < 0.5, "{rate}");
        assert!((pace - 8.0).abs() < 2.0, "{pace}");
    }

    #[test]
    fn a_modem_that_never_had_more_than_it_could_send_is_not_known() {
        let mut drain = Drain::new(at_ms(0));
        for (ms, is_busy) in [(20, false), (40, true), (60, true), (80, false)] {
            drain.learn(at_ms(ms), at_ms(ms), ms * 10, is_busy);
            assert_eq!(drain.is_known(), ms >= 60, "{ms}");
        }
    }

    #[test]
    fn sums_that_step_back_by_a_level_of_the_report_even_out() {
        let rate = over(|_| true, |ms| ms * 1_000 - (ms / 5 % 2) * 3_000);
        assert!((8.0..10.0).contains(&rate), "{rate}");
    }
}
