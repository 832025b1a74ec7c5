//! Finds the queue with the most bytes when memory runs out: a heap that is built when it is first
//! needed and kept up only as long as it might be needed again (Linux `cake_drop`, `cake_heapify`).
//!
//! As in Linux, an entry that sinks stops as soon as no child is larger than the one that it last
//! changed places with: it may stop too early, so that "the longest" is at times only a long one.
//! Whom an overload hits follows from that, so it is kept.

use super::flow::QUEUES;

const TINS: usize = 8;
const ENTRIES: usize = TINS * QUEUES;

/// How many packets are sent after an overflow before the heap is left alone.
const KEPT_FOR: u16 = 65_535;

/// Backlogs of all queues, and the heap over them. A queue's number is its tin's times 1,024, plus its own.
#[derive(Clone, Debug)]
pub(super) struct Backlogs {
    /// Bytes of frames.
    bytes: Vec<u32>,
    /// Queues in the order of a heap, largest first; empty until the first overflow.
    heap: Vec<u16>,
    /// Where each queue is in the heap.
    places: Vec<u16>,
    kept_for: u16,
}

impl Backlogs {
    pub(super) fn new() -> Backlogs {
        Backlogs {
            bytes: vec![0; ENTRIES],
            heap: Vec::new(),
            places: Vec::new(),
            kept_for: 0,
        }
    }

    #[inline]
    pub(super) fn grow(&mut self, queue: usize, bytes: u32) {
        self.bytes[queue] += bytes;
    }

    #[inline]
    pub(super) fn shrink(&mut self, queue: usize, bytes: u32) {
        self.bytes[queue] -= bytes;
    }

    /// Restores the order after a queue has grown.
    #[inline]
    pub(super) fn risen(&mut self, queue: usize) {
        if self.kept_for > 0 {
            self.sift_up(usize::from(self.places[queue]));
        }
    }

    /// Restores the order after a queue has shrunk.
    #[inline]
    pub(super) fn sunk(&mut self, queue: usize) {
        if self.kept_for > 0 {
            self.sift_down(usize::from(self.places[queue]));
        }
    }

    #[inline]
    pub(super) fn packet_sent(&mut self) {
        self.kept_for = self.kept_for.saturating_sub(1);
    }

    /// The queue at the top was empty: the order has suffered.
    pub(super) fn rebuild_next_time(&mut self) {
        self.kept_for = 0;
    }

    /// The queue at the top: with the most bytes, or nearly so.
    pub(super) fn largest(&mut self) -> usize {
        if self.heap.is_empty() {
            let number = |k: usize| (k % TINS * QUEUES + k / TINS) as u16;
            self.heap = (0..ENTRIES).map(number).collect();
            self.places = vec![0; ENTRIES];
            for (place, queue) in self.heap.iter().enumerate() {
                self.places[usize::from(*queue)] = place as u16;
            }
        }
        if self.kept_for == 0 {
            (0..ENTRIES / 2)
                .rev()
                .for_each(|place| self.sift_down(place));
        }
        self.kept_for = KEPT_FOR;
        usize::from(self.heap[0])
    }

    fn bytes_at(&self, place: usize) -> u32 {
        self.bytes[usize::from(self.heap[place])]
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[usize::from(self.heap[a])] = a as u16;
        self.places[usize::from(self.heap[b])] = b as u16;
    }

    fn sift_down(&mut self, from: usize) {
        let mut place = from;
        let mut largest = self.bytes_at(place);
        loop {
            let mut to = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < ENTRIES && self.bytes_at(child) > largest {
                    to = child;
                    largest = self.bytes_at(child);
                }
            }
            if to == place {
                return;
            }
            self.swap(place, to);
            place = to;
        }
    }

    fn sift_up(&mut self, from: usize) {
        let mut place = from;
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.bytes_at(place) <= self.bytes_at(parent) {
                return;
            }
            self.swap(place, parent);
            place = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_stands_out_is_found() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut backlogs = Backlogs::new();
        for _ in 0..100 {
            let queue = rng.usize(..ENTRIES);
            backlogs.grow(queue, rng.u32(1..1_000));
            backlogs.risen(queue);
            backlogs.grow(4_321, 1_000);
            backlogs.risen(4_321);
            assert_eq!(backlogs.largest(), 4_321);
        }
        let all = backlogs.bytes[4_321];
        backlogs.shrink(4_321, all);
        backlogs.sunk(4_321);
        let next = backlogs.largest();
        assert!(next != 4_321 && backlogs.bytes[next] > 0);
    }
}
