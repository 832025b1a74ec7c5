//! Data that has arrived: a stream up to the first hole, and ranges beyond.

use super::sack::Sacks;
use crate::segment::Block;
use std::collections::VecDeque;

/// Where a segment fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    InOrder,
    OutOfOrder {
        is_new: bool,
    },
    /// All of it was there already.
    Duplicate,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    /// First byte that is missing.
    pub next: u64,
    /// Ranges beyond it, ascending, with holes between.
    ranges: VecDeque<Block>,
    /// Bytes in them.
    pub held: u64,
}

impl Reassembly {
    /// How many ranges lie beyond holes.
    pub(super) fn holes(&self) -> u64 {
        self.ranges.len() as u64
    }

    pub(super) fn holes_are_filled(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Takes in a range of bytes; what was there already becomes a D-SACK.
    pub(super) fn insert(&mut self, start: u64, end: u64, sacks: &mut Sacks) -> Arrival {
        if end <= self.next {
            sacks.duplicate = Some(Block { start, end });
            return Arrival::Duplicate;
        }
        if start > self.next {
            let is_new = self.hold(start, end, sacks);
            return Arrival::OutOfOrder { is_new };
        }
        if start < self.next {
            sacks.duplicate = Some(Block {
                start,
                end: self.next,
            });
        }
        self.next = end;
        self.join_front(sacks);
        Arrival::InOrder
    }

    /// Takes ranges that the stream now reaches.
    fn join_front(&mut self, sacks: &mut Sacks) {
        let reached = self.next;
        while let Some(range) = self.ranges.front().copied() {
            if range.start > self.next {
                break;
            }
            if range.start < reached {
                sacks.extend_duplicate(range.start, range.end.min(reached));
            }
            self.held -= range.end - range.start;
            self.next = self.next.max(range.end);
            self.ranges.pop_front();
        }
    }

    /// Keeps a range beyond a hole. False if all of it was there already.
    fn hold(&mut self, start: u64, end: u64, sacks: &mut Sacks) -> bool {
        // Most ranges come at the end.
        if let Some(last) = self.ranges.back_mut().filter(|last| last.end <= start) {
            if last.end == start {
                last.end = end;
            } else {
                self.ranges.push_back(Block { start, end });
            }
            self.held += end - start;
            return true;
        }
        // The first range that touches or follows the new one.
        let first = self.ranges.partition_point(|range| range.end < start);
        let mut merged = Block { start, end };
        let mut last = first;
        while let Some(range) = self.ranges.get(last).filter(|range| range.start <= end) {
            if range.start <= start && end <= range.end {
                sacks.duplicate = Some(Block { start, end });
                return false;
            }
            let overlap = (range.start.max(start), range.end.min(end));
            if overlap.0 < overlap.1 {
                sacks.extend_duplicate(overlap.0, overlap.1);
            }
            self.held -= range.end - range.start;
            merged.start = merged.start.min(range.start);
            merged.end = merged.end.max(range.end);
            last += 1;
        }
        self.held += merged.end - merged.start;
        if first == last {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..last);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a model that marks every byte by itself.
    #[test]
    fn any_order_and_overlap_gives_the_same_as_marking_bytes() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let mut data = Reassembly::default();
            let mut bytes = [false; 64];
            for _ in 0..40 {
                let start = rng.usize(0..60);
                let end = (start + rng.usize(1..12)).min(64);
                data.insert(start as u64, end as u64, &mut Sacks::default());
                bytes[start..end].fill(true);
                let next = bytes.iter().position(|&b| !b).unwrap_or(64);
                assert_eq!(data.next, next as u64);
                let held = bytes[next..].iter().filter(|&&b| b).count();
                assert_eq!(data.held, held as u64);
                for pair in data.ranges.iter().collect::<Vec<_>>().windows(2) {
                    assert!(pair[0].end < pair[1].start, "ranges keep apart");
                }
            }
        }
    }
}
