//! The smallest value of the last while.

use std::collections::VecDeque;
use unbloat_units::{Delta, Time};

/// The exact minimum over a sliding window of time, in constant amortised time.
///
/// A monotone queue: a value that is not smaller than a later one can never be the minimum again
/// and is forgotten. Memory is at most one entry for each value in the window; while values fall it
/// is one entry in all.
#[derive(Clone, Debug)]
pub struct WindowedMin<V> {
    window: Delta,
    rising: VecDeque<(Time, V)>,
}

impl<V: PartialOrd + Copy> WindowedMin<V> {
    pub fn new(window: Delta) -> WindowedMin<V> {
        WindowedMin {
            window,
            rising: VecDeque::new(),
        }
    }

    /// Adds a value and gives the minimum over `[now - window, now]`. Times that step backwards
    /// count as the latest time seen.
    pub fn push(&mut self, now: Time, value: V) -> V {
        let latest = self.rising.back().map_or(now, |&(at, _)| at.max(now));
        while self.rising.back().is_some_and(|&(_, last)| last >= value) {
            self.rising.pop_back();
        }
        self.rising.push_back((latest, value));
        self.forget_before(latest);
        self.rising.front().map_or(value, |&(_, min)| min)
    }

    /// The minimum over `[now - window, now]`; `None` when nothing was seen in that time.
    pub fn at(&mut self, now: Time) -> Option<V> {
        self.forget_before(now);
        self.rising.front().map(|&(_, min)| min)
    }

    fn forget_before(&mut self, now: Time) {
        let gone = |&(at, _): &(Time, V)| now.since(at) > self.window;
        while self.rising.front().is_some_and(gone) {
            self.rising.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_equals_a_scan_of_the_window() {
        let value = |i: i64| (i * 7919) % 101;
        let mut min = WindowedMin::new(Delta::ms(10));
        for i in 0..1000 {
            let scan = (0.max(i - 10)..=i).map(value).min();
            assert_eq!(Some(min.push(Time::from_ns(i * 1_000_000), value(i))), scan);
        }
    }

    #[test]
    fn silence_empties_it_and_falling_values_need_one_entry() {
        let mut min = WindowedMin::new(Delta::ms(10));
        for i in 0..100 {
            min.push(Time::from_ns(i), 100 - i);
        }
        assert_eq!(min.rising.len(), 1);
        assert_eq!(min.at(Time::from_ns(99)), Some(1));
        assert_eq!(min.at(Time::from_ns(11_000_000)), None);
    }

    #[test]
    fn a_clock_that_steps_back_does_not_stop_it() {
        let mut min = WindowedMin::new(Delta::ms(1));
        min.push(Time::from_ns(5_000_000), 3);
        assert_eq!(min.push(Time::from_ns(1_000_000), 4), 3);
        assert_eq!(min.push(Time::from_ns(7_000_000), 9), 9);
    }
}
