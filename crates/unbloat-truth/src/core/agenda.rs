//! What is planned, earliest first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use unbloat_units::Time;

/// Things to do at times; equal times come out in the order in which they were planned.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    entries: BinaryHeap<Entry<T>>,
    planned: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Time,
    order: u64,
    item: T,
}

impl<T> Agenda<T> {
    pub(crate) fn new() -> Agenda<T> {
        Agenda {
            entries: BinaryHeap::new(),
            planned: 0,
        }
    }

    pub(crate) fn plan(&mut self, at: Time, item: T) {
        let order = self.planned;
        self.planned += 1;
        self.entries.push(Entry { at, order, item });
    }

    /// When the next thing is due.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.entries.peek().map(|entry| entry.at)
    }

    /// The next thing, if it is due at `now`.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<(Time, T)> {
        if self.next_at()? > now {
            return None;
        }
        self.entries.pop().map(|entry| (entry.at, entry.item))
    }
}

/// Reversed, because the heap gives its greatest first.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Entry<T>) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Entry<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Entry<T>) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_out_by_time_and_ties_by_planning() {
        let mut agenda = Agenda::new();
        for (ns, item) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b'), (9, 'e')] {
            agenda.plan(Time::from_ns(ns), item);
        }
        let due = std::iter::from_fn(|| agenda.take_due(Time::from_ns(5)));
        assert_eq!(due.map(|(_, item)| item).collect::<String>(), "abcd");
        assert_eq!(agenda.next_at(), Some(Time::from_ns(9)));
    }
}
