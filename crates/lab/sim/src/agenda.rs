//! What happens when: a heap of tasks by time, those of the same time in the order in which they were planned.
//!
//! Four children to a node: half the levels of a binary heap, and the children of a node lie in one or two cache lines.
//!
//! Beside the heap are seats, one for each task that is planned again and again and is mostly the next one: a heap full of timers
//! of flows would have to sort it in and out each time.

use unbloat_units::Time;

const CHILDREN: usize = 4;
const SEATS: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: Time,
    order: u64,
    task: T,
}

impl<T> Entry<T> {
    #[inline]
    fn precedes(&self, other: &Entry<T>) -> bool {
        let key = |entry: &Entry<T>| i128::from(entry.at.as_ns()) << 64 | i128::from(entry.order);
        key(self) < key(other)
    }
}

/// Tasks to come.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    heap: Vec<Entry<T>>,
    seats: [Option<Entry<T>>; SEATS],
    planned: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Agenda<T> {
        Agenda {
            heap: Vec::new(),
            seats: [const { None }; SEATS],
            planned: 0,
        }
    }
}

impl<T: Copy> Agenda<T> {
    /// Adds a task.
    #[inline]
    pub fn plan(&mut self, at: Time, task: T) {
        let entry = self.entry(at, task);
        self.push(entry);
    }

    /// Adds a task that takes a seat. The one that had it is not forgotten.
    #[inline(always)]
    pub fn plan_in_seat(&mut self, seat: usize, at: Time, task: T) {
        let entry = self.entry(at, task);
        if let Some(before) = self.seats[seat].replace(entry) {
            self.push(before);
        }
    }

    /// Time of the first task.
    pub fn next_at(&self) -> Option<Time> {
        let (entry, _) = self.first()?;
        Some(entry.at)
    }

    /// The first task and its time.
    #[inline]
    pub fn take(&mut self) -> Option<(Time, T)> {
        self.take_until(Time::MAX)
    }

    /// The first task and its time, if that is not beyond `end`.
    #[inline]
    pub fn take_until(&mut self, end: Time) -> Option<(Time, T)> {
        let (first, seat) = self.first()?;
        let Entry { at, task, .. } = *first;
        if at > end {
            return None;
        }
        match seat {
            Some(seat) => self.seats[seat] = None,
            None => self.pop(),
        }
        Some((at, task))
    }

    #[inline]
    fn entry(&mut self, at: Time, task: T) -> Entry<T> {
        let order = self.planned;
        self.planned += 1;
        Entry { at, order, task }
    }

    /// The first task, and its seat if it has one.
    #[inline]
    fn first(&self) -> Option<(&Entry<T>, Option<usize>)> {
        let mut first = self.heap.first().map(|entry| (entry, None));
        for (entry, seat) in self.seats.iter().zip(0..) {
            if let Some(entry) = entry
                && first.is_none_or(|(other, _)| entry.precedes(other))
            {
                first = Some((entry, Some(seat)));
            }
        }
        first
    }

    #[inline(never)]
    fn push(&mut self, entry: Entry<T>) {
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry);
    }

    /// Takes off the first of the heap.
    fn pop(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sink(last);
        }
    }

    fn rise(&mut self, mut hole: usize, entry: Entry<T>) {
        while hole > 0 {
            let parent = (hole - 1) / CHILDREN;
            if !entry.precedes(&self.heap[parent]) {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// Puts `entry` in place of the first one.
    fn sink(&mut self, entry: Entry<T>) {
        let mut hole = 0;
        loop {
            let first = hole * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            let Some(least) = children.reduce(|a, b| {
                if self.heap[b].precedes(&self.heap[a]) {
                    b
                } else {
                    a
                }
            }) else {
                break;
            };
            if !self.heap[least].precedes(&entry) {
                break;
            }
            self.heap[hole] = self.heap[least];
            hole = least;
        }
        self.heap[hole] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    #[test]
    fn tasks_come_by_time_and_then_as_planned() {
        let mut rng = Rng::with_seed(7);
        let mut agenda = Agenda::default();
        let mut expected = Vec::new();
        let mut taken = Vec::new();
        for number in 0..5_000_u32 {
            let at = Time::from_ns(rng.i64(0..200) + i64::from(number / 50));
            match rng.usize(0..2 * SEATS) {
                seat if seat < SEATS => agenda.plan_in_seat(seat, at, number),
                _ => agenda.plan(at, number),
            }
            expected.push((at, number));
            if rng.u8(0..3) == 0 {
                let (next, first) = agenda.take().unwrap();
                assert!(expected.iter().all(|entry| (next, first) <= *entry));
                expected.retain(|entry| *entry != (next, first));
            }
        }
        while let Some(entry) = agenda.take() {
            taken.push(entry);
        }
        expected.sort_unstable();
        assert_eq!(taken, expected);
    }
}
