//! Packets that leave each at its own time, in whatever order they came.

use crate::seam::Output;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use unbloat_qdisc::{Backlog, Packet};
use unbloat_units::{Bytes, Time};

/// Earliest first; equal times in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    packets: BinaryHeap<Reverse<Entry>>,
    pushed: u64,
    bytes: Bytes,
}

#[derive(Debug)]
struct Entry {
    at: Time,
    order: u64,
    packet: Packet,
}

impl Sorted {
    pub(crate) fn push(&mut self, at: Time, packet: Packet) {
        self.bytes += packet.len.bytes();
        let order = self.pushed;
        self.pushed += 1;
        self.packets.push(Reverse(Entry { at, order, packet }));
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        self.packets.peek().map(|Reverse(entry)| entry.at)
    }

    pub(crate) fn deliver_due(&mut self, now: Time, out: &mut impl Output) {
        while self.next_at().is_some_and(|at| at <= now)
            && let Some(Reverse(entry)) = self.packets.pop()
        {
            self.bytes = self.bytes - entry.packet.len.bytes();
            out.deliver(entry.at, entry.packet);
        }
    }

    pub(crate) fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u32,
            bytes: self.bytes,
        }
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}
