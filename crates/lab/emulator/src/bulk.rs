//! Whether so much is carried that exact spacing gives way to throughput.
//!
//! Below [`BEGINS`] every packet leaves by itself and wakes the thread, so that its spacing is that of the link. Above, packets
//! of 1,500 bytes leave less than 0.1 ms apart, which no receiver tells from a burst of its network card; those that fall due
//! within one [`Bulk::pause`] leave together, and data of one flow as one large packet. Logical times stay as they are.

use unbloat_units::{Bytes, Delta, Rate, Time};

/// Both directions together.
const BEGINS: Rate = Rate::mbps(150);
const ENDS: Rate = Rate::mbps(100);
/// Over which the rate is taken.
const WINDOW: Delta = Delta::ms(5);
/// Shortest and longest time from one wake-up to the next.
const PAUSES: [Delta; 2] = [Delta::us(20), Delta::us(200)];

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bulk {
    is_on: bool,
    is_allowed: bool,
    pause: Delta,
    begun: Time,
    bytes: Bytes,
}

impl Bulk {
    /// Pauses are two fifths of the lateness for which a run is still trusted, a hundredth of the base round-trip time; within
    /// bounds.
    pub(crate) fn new(base_rtt: Delta) -> Bulk {
        let [shortest, longest] = PAUSES;
        Bulk {
            is_on: false,
            is_allowed: true,
            pause: (base_rtt / 250).max(shortest).min(longest),
            begun: Time::from_ns(0),
            bytes: Bytes::ZERO,
        }
    }

    /// From now on every packet wakes the thread, however many there are.
    pub(crate) fn forbid(&mut self) {
        self.is_allowed = false;
    }

    #[inline]
    pub(crate) fn carried(&mut self, bytes: Bytes) {
        self.bytes += bytes;
    }

    #[inline]
    pub(crate) fn update(&mut self, now: Time) {
        let span = now - self.begun;
        if span < WINDOW {
            return;
        }
        let rate = self.bytes.over(span).unwrap_or(Rate::ZERO);
        self.is_on = self.is_allowed && rate > if self.is_on { ENDS } else { BEGINS };
        (self.begun, self.bytes) = (now, Bytes::ZERO);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// How long the thread rests, whatever arrives, if bulk is carried and `next` is due within that time.
    pub(crate) fn pause(&self, now: Time, next: Time) -> Option<Delta> {
        (self.is_on && next - now <= self.pause).then_some(self.pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    #[test]
    fn bulk_begins_above_150_and_ends_below_100_mbps() {
        let mut bulk = Bulk::new(Delta::ms(40));
        let mut states = Vec::new();
        for (mbps, ms) in [(120, 5), (160, 10), (120, 15), (80, 20)] {
            bulk.carried(Rate::mbps(mbps) * Delta::ms(5));
            bulk.update(at_ms(ms));
            states.push(bulk.is_on());
        }
        assert_eq!(states, [false, true, true, false]);
    }

    #[test]
    fn the_thread_pauses_only_while_bulk_is_carried_and_more_is_due_soon() {
        let mut bulk = Bulk::new(Delta::ms(10));
        let (now, soon) = (at_ms(1), at_ms(1) + Delta::us(5));
        assert_eq!(bulk.pause(now, soon), None);
        bulk.carried(Bytes::new(10_000_000));
        bulk.update(at_ms(5));
        assert_eq!(bulk.pause(now, soon), Some(Delta::us(40)));
        assert_eq!(bulk.pause(now, at_ms(2)), None);
    }
}
