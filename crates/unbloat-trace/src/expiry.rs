//! Which flows to look at because they may have been silent for too long.
//!
//! Slots wait in buckets of one second each. A packet does not move its flow: when its second is
//! over, the flow says until when it may live, and waits again. So packets cost nothing here, and a
//! flow is looked at once per timeout.

use std::collections::VecDeque;
use unbloat_units::Time;

#[derive(Debug)]
pub(crate) struct Expiry {
    /// The time of second 0: the beginning of the trace, so that moving a trace in time changes
    /// nothing.
    origin: Time,
    /// The second of the first bucket.
    first: i64,
    buckets: VecDeque<Vec<u32>>,
    /// Slots whose second is over and that were not asked for yet, with that second.
    due: Vec<(u32, i64)>,
}

impl Expiry {
    /// Buckets kept; deadlines beyond wait in the last one and are then put off.
    const MAX_BUCKETS: i64 = 1 << 13;

    pub(crate) fn new(origin: Time) -> Expiry {
        Expiry {
            origin,
            first: 0,
            buckets: VecDeque::new(),
            due: Vec::new(),
        }
    }

    fn second(&self, time: Time) -> i64 {
        time.since(self.origin).as_ns().div_euclid(1_000_000_000)
    }

    /// Has `slot` come up when `deadline` is past. Returns the second in which it waits: a slot
    /// that comes up from another second was scheduled again since, or has a new tenant.
    pub(crate) fn schedule(&mut self, slot: u32, deadline: Time) -> i64 {
        let at = (self.second(deadline) - self.first).clamp(0, Self::MAX_BUCKETS - 1) as usize;
        if at >= self.buckets.len() {
            self.buckets.resize_with(at + 1, Vec::new);
        }
        self.buckets[at].push(slot);
        self.first + at as i64
    }

    /// The next slot whose second is over at `now`, and that second.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(u32, i64)> {
        let end = self.second(now);
        // All at once, so that what is put off from here waits from `now` on: a clock that leaps
        // by decades would else be followed second by second.
        while self.first < end {
            let Some(bucket) = self.buckets.pop_front() else {
                self.first = end;
                break;
            };
            self.due
                .extend(bucket.into_iter().map(|slot| (slot, self.first)));
            self.first += 1;
        }
        self.due.pop()
    }

    /// The slot that comes up after `n` others, if it waits in the same bucket.
    pub(crate) fn nth_next(&self, n: usize) -> Option<u32> {
        let bucket = self.buckets.front()?;
        bucket.len().checked_sub(n + 1).map(|at| bucket[at])
    }

    /// The slot that comes up next, due or not, and its second.
    pub(crate) fn pop_next(&mut self) -> Option<(u32, i64)> {
        if let Some(due) = self.due.pop() {
            return Some(due);
        }
        loop {
            if let Some(slot) = self.buckets.front_mut()?.pop() {
                return Some((slot, self.first));
            }
            self.buckets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Delta;

    fn at(ms: i64) -> Time {
        Time::default() + Delta::ms(ms)
    }

    fn due(expiry: &mut Expiry, now: Time) -> Vec<u32> {
        let mut slots: Vec<u32> = std::iter::from_fn(|| expiry.pop_due(now))
            .map(|(slot, _)| slot)
            .collect();
        slots.sort_unstable();
        slots
    }

    #[test]
    fn slots_come_up_once_their_second_is_over() {
        let mut expiry = Expiry::new(at(500));
        expiry.schedule(1, at(1400));
        expiry.schedule(2, at(1600));
        assert_eq!(due(&mut expiry, at(1499)), [] as [u32; 0]);
        assert_eq!(due(&mut expiry, at(1500)), [1]);
        assert_eq!(due(&mut expiry, at(9000)), [2]);
    }

    #[test]
    fn a_deadline_in_the_past_comes_up_at_the_next_chance() {
        let mut expiry = Expiry::new(at(0));
        expiry.schedule(1, at(10_000));
        assert_eq!(due(&mut expiry, at(50_000)), [1]);
        expiry.schedule(2, at(0));
        assert_eq!(due(&mut expiry, at(51_000)), [2]);
    }

    #[test]
    fn the_earliest_comes_first_when_room_is_needed() {
        let mut expiry = Expiry::new(at(0));
        expiry.schedule(2, at(3_000_000));
        expiry.schedule(1, at(5_000));
        let slots = [expiry.pop_next(), expiry.pop_next(), expiry.pop_next()];
        assert_eq!(slots, [Some((1, 5)), Some((2, 3000)), None]);
    }

    #[test]
    fn far_deadlines_do_not_grow_memory() {
        let mut expiry = Expiry::new(at(0));
        expiry.schedule(1, Time::MAX);
        assert_eq!(expiry.buckets.len(), Expiry::MAX_BUCKETS as usize);
    }
    #[test]
    fn a_clock_that_leaps_by_decades_costs_one_look_at_each_slot() {
        let mut expiry = Expiry::new(at(0));
        let leap = Time::default() + Delta::secs(60 * 365 * 86_400);
        let deadline = leap + Delta::secs(3600);
        expiry.schedule(1, deadline);
        let mut looks = 0;
        while expiry.pop_due(leap).is_some() {
            expiry.schedule(1, deadline);
            looks += 1;
        }
        assert_eq!(looks, 1);
        assert_eq!(due(&mut expiry, deadline + Delta::secs(1)), [1]);
    }
}
