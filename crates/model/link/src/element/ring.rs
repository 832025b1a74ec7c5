//! Packets that leave in the order in which they came, each at its time.

use crate::seam::Output;
use unbloat_qdisc::{Backlog, Packet};
use unbloat_units::{Bytes, Time};

/// A queue whose items are numbered from zero as they arrive. The number of slots is a power of two, so a number is masked to its slot.
/// Once the ring holds all items in flight, it allocates no more.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<T>,
    /// Number of the first item.
    pub(crate) first: usize,
    /// Number of the next one to come.
    pub(crate) end: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots {
            slots: Vec::new(),
            first: 0,
            end: 0,
        }
    }
}

impl<T: Copy> Slots<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.end - self.first
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    #[inline]
    fn slot(&self, number: usize) -> usize {
        number & (self.slots.len() - 1)
    }

    /// The item of that number, which must be there.
    #[inline]
    pub(crate) fn at(&self, number: usize) -> &T {
        &self.slots[self.slot(number)]
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        if self.len() == self.slots.len() {
            self.grow(item);
        }
        let slot = self.slot(self.end);
        self.slots[slot] = item;
        self.end += 1;
    }

    #[inline(never)]
    fn grow(&mut self, any: T) {
        let mut slots = vec![any; (2 * self.slots.len()).max(4)];
        let mask = slots.len() - 1;
        for number in self.first..self.end {
            slots[number & mask] = *self.at(number);
        }
        self.slots = slots;
    }
}

/// A first-in first-out line with departure times that do not decrease: no heap.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    packets: Slots<(Time, Packet)>,
    bytes: Bytes,
}

impl Ring {
    #[inline]
    pub(crate) fn push(&mut self, at: Time, packet: Packet) {
        debug_assert!(
            self.packets.is_empty() || self.packets.at(self.packets.end - 1).0 <= at,
            "departures are in order"
        );
        self.bytes += packet.len.bytes();
        self.packets.push((at, packet));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, Packet)> {
        let (at, packet) = *self.first()?;
        self.packets.first += 1;
        self.bytes = self.bytes - packet.len.bytes();
        Some((at, packet))
    }

    #[inline]
    fn first(&self) -> Option<&(Time, Packet)> {
        (!self.packets.is_empty()).then(|| self.packets.at(self.packets.first))
    }

    #[inline]
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.first().map(|(at, _)| *at)
    }

    /// The packet that leaves after so many others.
    #[inline]
    pub(crate) fn get(&self, after: usize) -> Option<&Packet> {
        let number = self.packets.first + after;
        (number < self.packets.end).then(|| &self.packets.at(number).1)
    }

    #[inline]
    pub(crate) fn deliver_due(&mut self, now: Time, out: &mut impl Output) {
        while self.next_at().is_some_and(|at| at <= now)
            && let Some((at, packet)) = self.pop()
        {
            out.deliver(at, packet);
        }
    }

    pub(crate) fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u32,
            bytes: self.bytes,
        }
    }
}
