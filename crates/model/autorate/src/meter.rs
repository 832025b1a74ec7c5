//! How much came of late.

use std::collections::VecDeque;
use unbloat_units::{Delta, Time};

/// Entries are merged that are closer than this, so memory depends on the window alone.
const GRAIN: Delta = Delta::ms(5);

/// Bytes over a window that slides.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    window: Delta,
    entries: VecDeque<(Time, u64)>,
    sum: u64,
    last: Option<Time>,
}

impl Meter {
    pub(crate) fn new(window: Delta) -> Meter {
        Meter {
            window,
            entries: VecDeque::new(),
            sum: 0,
            last: None,
        }
    }

    pub(crate) fn add(&mut self, now: Time, bytes: u64) {
        self.sum += bytes;
        self.last = Some(now);
        match self.entries.back_mut() {
            Some((at, sum)) if now.since(*at) < GRAIN => *sum += bytes,
            _ => self.entries.push_back((now, bytes)),
        }
        self.forget(now);
    }

    /// In bits per second.
    pub(crate) fn bps(&mut self, now: Time) -> f64 {
        self.forget(now);
        self.sum as f64 * 8.0 / self.window.as_secs()
    }

    /// In bits per second, of a line that was busy for `busy` but for the time since the last that came: no pause is counted in.
    pub(crate) fn busy_bps(&self, now: Time, busy: Delta) -> f64 {
        let start = now - busy.min(self.window);
        let span = self.last.unwrap_or(now).since(start).max(self.window / 5);
        self.since(start) as f64 * 8.0 / span.as_secs()
    }

    /// Bytes that came after `then`.
    pub(crate) fn since(&self, then: Time) -> u64 {
        let late = self.entries.iter().rev().take_while(|(at, _)| *at > then);
        late.map(|(_, bytes)| bytes).sum()
    }

    fn forget(&mut self, now: Time) {
        while let Some((at, bytes)) = self.entries.front().copied()
            && now.since(at) > self.window
        {
            self.sum -= bytes;
            self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_measures_what_came_within_its_window_and_no_more() {
        let mut meter = Meter::new(Delta::ms(200));
        let start = Time::from_ns(0);
        for ms in 0..1_000 {
            meter.add(start + Delta::ms(ms), 1_250);
        }
        let end = start + Delta::ms(1_000);
        assert!((meter.bps(end) - 10e6).abs() < 0.3e6, "{}", meter.bps(end));
        assert_eq!(meter.since(start + Delta::ms(989)), 12_500);
        assert_eq!(meter.bps(end + Delta::secs(1)), 0.0);
    }

    #[test]
    fn a_pause_before_or_after_is_not_counted_into_what_a_busy_line_carries() {
        let mut meter = Meter::new(Delta::ms(200));
        let start = Time::from_ns(0);
        for ms in 100..160 {
            meter.add(start + Delta::ms(ms), 1_250);
        }
        let now = start + Delta::ms(180);
        let bps = meter.busy_bps(now, Delta::ms(80));
        assert!((bps - 10e6).abs() < 1e6, "{bps}");
        assert!(meter.bps(now) < 4e6);
        assert_eq!(meter.busy_bps(now + Delta::secs(1), Delta::ms(80)), 0.0);
    }
}
