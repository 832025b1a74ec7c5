//! Which flows to look at because they may have been silent for too long.
//!
//! Slots wait in buckets of one second each. A packet does not move its flow: when its second is
//! over, the flow says until when it may live, and waits again. So packets cost nothing here, and a
//! flow is looked at once per timeout. Deadlines that are hours away wait in coarser buckets, so
//! that a clock that leaps by decades costs no more than one that does not.

use std::collections::{BTreeMap, VecDeque};
use unbloat_units::Time;

#[derive(Debug)]
pub(crate) struct Expiry {
    /// The time of second 0: the beginning of the trace, so that moving a trace in time changes
    /// nothing.
    origin: Time,
    /// The second of the first bucket.
    first: i64,
    buckets: VecDeque<Vec<u32>>,
    /// Slots with deadlines beyond the last bucket, by the first of `MAX_BUCKETS` seconds.
    far: BTreeMap<i64, Vec<u32>>,
    /// Slots whose second is over and that were not asked for yet, with that second.
    due: Vec<(u32, i64)>,
}

impl Expiry {
    /// Seconds with a bucket of their own.
    const MAX_BUCKETS: i64 = 1 << 13;

    pub(crate) fn new(origin: Time) -> Expiry {
        Expiry {
            origin,
            first: 0,
            buckets: VecDeque::new(),
            far: BTreeMap::new(),
            due: Vec::new(),
        }
    }

    fn second(&self, time: Time) -> i64 {
        time.since(self.origin).as_ns().div_euclid(1_000_000_000)
    }

    /// Has `slot` come up when `deadline` is past. Returns the second in which it waits: a slot
    /// that comes up from another second was scheduled again since, or has a new tenant.
    pub(crate) fn schedule(&mut self, slot: u32, deadline: Time) -> i64 {
        let second = self.second(deadline).max(self.first);
        if second - self.first >= Self::MAX_BUCKETS {
            let start = second - second.rem_euclid(Self::MAX_BUCKETS);
            self.far.entry(start).or_default().push(slot);
            return start;
        }
        let at = (second - self.first) as usize;
        if at >= self.buckets.len() {
            self.buckets.resize_with(at + 1, Vec::new);
        }
        self.buckets[at].push(slot);
        second
    }

    /// The next slot whose second is over at `now`, and that second.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(u32, i64)> {
        let end = self.second(now);
        while self.first < end {
            let Some(bucket) = self.buckets.pop_front() else {
                self.first = end;
                break;
            };
            let slots = bucket.into_iter();
            self.due.extend(slots.map(|slot| (slot, self.first)));
            self.first += 1;
        }
        while let Some(entry) = self.far.first_entry()
            && *entry.key() < end
        {
            let (start, slots) = entry.remove_entry();
            self.due.extend(slots.into_iter().map(|slot| (slot, start)));
        }
        self.due.pop()
    }

    /// The slot that comes up after `n` others, if it waits in the same bucket.
    pub(crate) fn nth_next(&self, n: usize) -> Option<u32> {
        if !self.due.is_empty() {
            return self.due.iter().nth_back(n).map(|&(slot, _)| slot);
        }
        let bucket = self.buckets.front()?;
        bucket.iter().nth_back(n).copied()
    }

    /// The slot that comes up next, due or not, and its second.
    pub(crate) fn pop_next(&mut self) -> Option<(u32, i64)> {
        if let Some(due) = self.due.pop() {
            return Some(due);
        }
        loop {
            if let Some(mut far) = self.far.first_entry()
                && (*far.key() <= self.first || self.buckets.is_empty())
            {
                let start = *far.key();
                self.first = self.first.max(start);
                match far.get_mut().pop() {
                    Some(slot) => return Some((slot, start)),
                    None => drop(far.remove()),
                }
                continue;
            }
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
        assert_eq!((expiry.buckets.len(), expiry.far.len()), (0, 1));
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
        assert!(looks <= 1, "{looks} looks");
        assert_eq!(due(&mut expiry, deadline + Delta::secs(1)), [1]);
    }
    #[test]
    fn far_deadlines_come_up_after_near_ones_and_in_their_order() {
        let mut expiry = Expiry::new(at(0));
        let second = |s: i64| Time::default() + Delta::secs(s);
        let seconds = [2_000_000_000, 20_000, 10, 2_000_000_500];
        for (slot, s) in (0..).zip(seconds) {
            expiry.schedule(slot, second(s));
        }
        // Whoever is asked too early is put off, as the flow table does it.
        let mut order = Vec::new();
        while let Some((slot, at)) = expiry.pop_next() {
            if expiry.second(second(seconds[slot as usize])) == at {
                order.push(slot);
            } else {
                expiry.schedule(slot, second(seconds[slot as usize]));
            }
        }
        assert_eq!(order, [2, 1, 0, 3]);
    }
}
