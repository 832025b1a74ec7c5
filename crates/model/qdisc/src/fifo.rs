//! First in, first out, with its backlog kept: the store of every discipline with one queue.

use crate::packet::Packet;
use crate::queue::Backlog;
use std::collections::VecDeque;
use unbloat_units::{Bytes, Time};

#[derive(Clone, Debug, Default)]
pub(crate) struct Fifo {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Fifo {
    /// Stamps the packet with its time of arrival and appends it.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, mut packet: Packet) {
        packet.enqueued = now;
        self.bytes += u64::from(packet.len.as_u32());
        self.packets.push_back(packet);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.len.as_u32());
        Some(packet)
    }

    #[inline]
    pub(crate) fn head(&self) -> Option<&Packet> {
        self.packets.front()
    }

    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        self.packets.len() as u32
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets(),
            bytes: Bytes::new(self.bytes),
        }
    }
}
