//! Memory asked for before it is needed.
//!
//! The packets of many flows interleave, so nearly every one needs lines that no cache of the
//! processor holds: its place in the index, its flow, and what hangs on that. Each follows from the
//! one before, so packets go through these steps in groups, several groups at once.

use super::Shard;
use unbloat_wire::{Batch, PacketHeader};

/// Packets that take a step together.
const GROUP: usize = 8;

/// Packets on their way, as positions in the batch.
#[derive(Clone, Copy, Default)]
struct Group {
    packets: [u32; GROUP],
    /// Where each packet's flow most likely is.
    slots: [u32; GROUP],
    len: usize,
}

impl Group {
    fn take(packets: &mut impl Iterator<Item = u32>) -> Group {
        let mut group = Group::default();
        for (place, packet) in group.packets.iter_mut().zip(packets) {
            *place = packet;
            group.len += 1;
        }
        group
    }

    #[inline]
    fn packets<'b>(&self, batch: &'b Batch) -> impl Iterator<Item = (&'b PacketHeader, u32)> {
        let packets = self.packets.iter().zip(&self.slots).take(self.len);
        packets.map(|(&at, &slot)| (&batch.headers[at as usize], slot))
    }
}

impl Shard {
    /// Takes in the packets of `batch` that belong to this shard, in order.
    pub fn process(&mut self, batch: &Batch, mine: impl Iterator<Item = u32>) {
        let mut mine = mine;
        let [mut now, mut soon, mut later] = [Group::default(); 3];
        loop {
            let last = Group::take(&mut mine);
            for (header, _) in last.packets(batch) {
                self.tcp.prefetch_index(header.flow_hash);
            }
            self.look_up(batch, &mut later);
            for (_, slot) in soon.packets(batch) {
                if let Some(entry) = self.tcp.get(slot) {
                    self.users.prefetch(entry.user);
                    entry.flow.prefetch();
                }
            }
            for (header, slot) in now.packets(batch) {
                self.packet(batch, header, slot);
            }
            if soon.len + later.len + last.len == 0 {
                return;
            }
            (now, soon, later) = (soon, later, last);
        }
    }

    fn look_up(&self, batch: &Batch, group: &mut Group) {
        for i in 0..group.len {
            let header = &batch.headers[group.packets[i] as usize];
            group.slots[i] = self.tcp.likely(header.flow_hash);
            self.tcp.prefetch_slot(group.slots[i]);
        }
    }
}
