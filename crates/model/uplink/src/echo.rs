//! What a modem has drained, from when the far end says that packets came.
//!
//! A TCP segment's timestamp echo tells its arrival by the far end's clock (RFC 7323). Arrival less departure from the discipline,
//! less the least that this ever was, is how long the segment waited in the modem: delay of the way back, and the offset between the
//! clocks, are not in it. So a loaded downlink makes the news older, not wrong.
//!
//! # Limits
//! 1. What waits behind the modem on the way up counts as if it waited in the modem.
//! 2. Clocks that drift by 20 ppm are 0.6 ms apart after half the window in which the least is kept.
//! 3. A window in which the modem was never empty raises the least by what it held.

use crate::valve::Occupancy;
use std::collections::VecDeque;
use unbloat_units::{Bytes, Delta, Time};

/// Half of how long the least delay is remembered.
const HALF: Delta = Delta::secs(30);
/// More segments than this on their way are not kept.
const MOST: usize = 65_536;

/// A segment came, says the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// The segment, by the number it was noted under; all before it have come too.
    pub number: u64,
    /// When, by the far end's clock.
    pub came: Time,
}

/// Segments on their way, and the least delay.
#[derive(Clone, Debug, Default)]
pub struct Echoes {
    /// Number, when it left the discipline, bytes let through up to its end.
    sent: VecDeque<(u64, Time, Bytes)>,
    least: Least,
}

/// The least of a window, kept by halves.
#[derive(Clone, Copy, Debug, Default)]
struct Least {
    since: Option<Time>,
    before: Option<Delta>,
    now: Option<Delta>,
}

impl Echoes {
    /// A segment that will be answered has left the discipline; `total` bytes have, up to its end. Numbers grow.
    pub fn sent(&mut self, number: u64, at: Time, total: Bytes) {
        if self.sent.len() < MOST {
            self.sent.push_back((number, at, total));
        }
    }

    /// What follows of an echo; nothing from one that is older than another.
    pub fn heard(&mut self, echo: Echo) -> Option<Occupancy> {
        let mut found = None;
        while let Some(first) = self.sent.front().filter(|first| first.0 <= echo.number) {
            found = Some(*first);
            self.sent.pop_front();
        }
        let (_, left, total) = found.filter(|(number, ..)| *number == echo.number)?;
        let delay = echo.came - left;
        let least = self.least.learn(left, delay);
        Some(Occupancy::Drained {
            at: left + (delay - least),
            total,
            waited: delay - least,
        })
    }
}

impl Least {
    fn learn(&mut self, at: Time, delay: Delta) -> Delta {
        let since = *self.since.get_or_insert(at);
        if at - since >= HALF {
            *self = Least {
                since: Some(at),
                before: self.now,
                now: None,
            };
        }
        let now = self.now.map_or(delay, |least| least.min(delay));
        self.now = Some(now);
        self.before.map_or(now, |before| before.min(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    fn heard(echoes: &mut Echoes, number: u64, came_ms: i64) -> Option<(Time, Bytes, Delta)> {
        let came = at_ms(came_ms);
        match echoes.heard(Echo { number, came })? {
            Occupancy::Drained { at, total, waited } => Some((at, total, waited)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn delay_beyond_the_least_is_the_modems_whatever_the_clock_of_the_far_end() {
        let mut echoes = Echoes::default();
        for number in 1..=3 {
            echoes.sent(number, at_ms(number as i64), Bytes::new(number * 1_500));
        }
        // The far end is 5 s ahead, and 20 ms away.
        let first = heard(&mut echoes, 1, 5_021);
        assert_eq!(first, Some((at_ms(1), Bytes::new(1_500), Delta::ZERO)));
        // The third waited 30 ms; the echo of the second was lost or merged.
        let third = heard(&mut echoes, 3, 5_053);
        assert_eq!(third, Some((at_ms(33), Bytes::new(4_500), Delta::ms(30))));
        assert_eq!(heard(&mut echoes, 2, 5_054), None);
    }

    #[test]
    fn the_least_delay_is_forgotten_after_one_to_two_halves() {
        let mut echoes = Echoes::default();
        let mut excess = Vec::new();
        for (number, second) in (1..).zip(0..100) {
            let (left, delay) = (at_ms(second * 1_000), if second == 0 { 20 } else { 50 });
            echoes.sent(number, left, Bytes::ZERO);
            let (at, ..) = heard(&mut echoes, number, second * 1_000 + delay).unwrap();
            excess.push((at - left).as_ms());
        }
        assert_eq!((excess[1], excess[59], excess[60]), (30.0, 30.0, 0.0));
    }
}
