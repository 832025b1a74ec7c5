//! Many queues of packets in one block of memory: a slot per packet, queues linked through the slots.
//!
//! Thousands of flow queues cost two numbers each, and no packet costs an allocation once the slab
//! has grown to the largest backlog.

use crate::packet::Packet;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    packet: Packet,
    next: u32,
}

/// The slots. Free ones form a list through the same links.
#[derive(Clone, Debug)]
pub(crate) struct Slab {
    slots: Vec<Slot>,
    free: u32,
}

/// One queue: where it begins and ends in the slab.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

/// The place of a packet within its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Default for List {
    fn default() -> List {
        List {
            head: NONE,
            tail: NONE,
        }
    }
}

impl List {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    pub(crate) fn first(&self) -> Option<Place> {
        (self.head != NONE).then_some(Place(self.head))
    }
}

impl Slab {
    pub(crate) fn new() -> Slab {
        Slab {
            slots: Vec::new(),
            free: NONE,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, list: &mut List, packet: Packet) {
        let slot = Slot { packet, next: NONE };
        let at = if self.free == NONE {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        } else {
            let at = self.free;
            self.free = self.slots[at as usize].next;
            self.slots[at as usize] = slot;
            at
        };
        if list.head == NONE {
            list.head = at;
        } else {
            self.slots[list.tail as usize].next = at;
        }
        list.tail = at;
    }

    #[inline]
    pub(crate) fn pop(&mut self, list: &mut List) -> Option<Packet> {
        if list.head == NONE {
            return None;
        }
        Some(self.remove(list, None))
    }

    /// Takes the packet behind `before`, or the first one; there must be one.
    pub(crate) fn remove(&mut self, list: &mut List, before: Option<Place>) -> Packet {
        let at = match before {
            None => list.head,
            Some(Place(before)) => self.slots[before as usize].next,
        };
        let Slot { packet, next } = self.slots[at as usize];
        match before {
            None => list.head = next,
            Some(Place(before)) => self.slots[before as usize].next = next,
        }
        if list.tail == at {
            list.tail = before.map_or(NONE, |Place(before)| before);
        }
        self.slots[at as usize].next = self.free;
        self.free = at;
        packet
    }

    /// The packet at the end.
    pub(crate) fn last(&self, list: &List) -> Option<&Packet> {
        let slot = self.slots.get(list.tail as usize)?;
        Some(&slot.packet)
    }

    pub(crate) fn packet(&self, Place(at): Place) -> &Packet {
        &self.slots[at as usize].packet
    }

    pub(crate) fn after(&self, Place(at): Place) -> Option<Place> {
        let next = self.slots[at as usize].next;
        (next != NONE).then_some(Place(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowHash, IpLen};

    fn packet(handle: u32) -> Packet {
        Packet::new(handle, IpLen::new(100), FlowHash(0))
    }

    #[test]
    fn queues_keep_their_order_and_reuse_slots() {
        let mut slab = Slab::new();
        let (mut a, mut b) = (List::default(), List::default());
        for round in 0..10 {
            for k in 0..5 {
                slab.push(&mut a, packet(round * 10 + k));
                slab.push(&mut b, packet(1_000 + round * 10 + k));
            }
            for k in 0..5 {
                assert_eq!(slab.pop(&mut a).unwrap().handle, round * 10 + k);
                assert_eq!(slab.pop(&mut b).unwrap().handle, 1_000 + round * 10 + k);
            }
        }
        assert!(a.is_empty() && slab.pop(&mut b).is_none());
        assert_eq!(slab.slots.len(), 10);
    }

    #[test]
    fn a_packet_can_be_taken_from_the_middle_and_from_the_end() {
        let mut slab = Slab::new();
        let mut list = List::default();
        (0..4).for_each(|k| slab.push(&mut list, packet(k)));
        let first = list.first().unwrap();
        assert_eq!(slab.remove(&mut list, Some(first)).handle, 1);
        let second = slab.after(first).unwrap();
        assert_eq!(slab.packet(second).handle, 2);
        assert_eq!(slab.remove(&mut list, Some(second)).handle, 3);
        slab.push(&mut list, packet(9));
        let rest: Vec<u32> = std::iter::from_fn(|| slab.pop(&mut list))
            .map(|p| p.handle)
            .collect();
        assert_eq!(rest, [0, 2, 9]);
    }
}
