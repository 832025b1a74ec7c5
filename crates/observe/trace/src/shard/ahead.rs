//! Memory asked for before it is needed.
//!
//! The packets of many flows interleave, so nearly every one needs lines that no cache of the
//! processor holds: its place in the index, its flow, and what hangs on that. Each follows from the
//! one before, so packets go through these steps in groups, several groups at once.

use super::Shard;
use unbloat_wire::{Batch, PacketHeader};

/// Packets that take a step together.
const GROUP: usize = 8;

/// Packets on their way.
#[derive(Clone, Copy)]
struct Group<'b> {
    headers: [&'b PacketHeader; GROUP],
    /// Where each packet's flow most likely is.
    slots: [u32; GROUP],
    len: usize,
}

impl<'b> Group<'b> {
    /// `any` stands where there is no packet.
    fn empty(any: &'b PacketHeader) -> Group<'b> {
        Group {
            headers: [any; GROUP],
            slots: [0; GROUP],
            len: 0,
        }
    }

    #[inline]
    fn fill(&mut self, batch: &'b Batch, packets: &mut impl Iterator<Item = u32>) {
        self.len = 0;
        for (place, packet) in self.headers.iter_mut().zip(packets) {
            *place = &batch.headers[packet as usize];
            self.len += 1;
        }
    }
}

impl Shard {
    /// Takes in the packets of `batch` that belong to this shard, in order.
    pub fn process(&mut self, batch: &Batch, mine: impl Iterator<Item = u32>) {
        let Some(any) = batch.headers.first() else {
            return;
        };
        let mut mine = mine;
        let mut groups = [Group::empty(any); 4];
        loop {
            let [now, soon, later, last] = &mut groups;
            last.fill(batch, &mut mine);
            for header in &last.headers[..last.len] {
                self.tcp.prefetch_index(header.flow_hash);
            }
            for (header, slot) in later.headers.iter().zip(&mut later.slots).take(later.len) {
                *slot = self.tcp.likely(header.flow_hash);
                self.tcp.prefetch_slot(*slot);
            }
            for &slot in &soon.slots[..soon.len] {
                if let Some(entry) = self.tcp.get(slot) {
                    self.users.prefetch(entry.user);
                    entry.flow.prefetch();
                }
            }
            for (header, &slot) in now.headers.iter().zip(&now.slots).take(now.len) {
                self.packet(batch, header, slot);
            }
            if soon.len + later.len + last.len == 0 {
                return;
            }
            groups.rotate_left(1);
        }
    }
}
