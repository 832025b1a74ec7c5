//! Packets that leave in the order in which they came, each at its time.

use crate::seam::Output;
use std::collections::VecDeque;
use unbloat_qdisc::{Backlog, Packet};
use unbloat_units::{Bytes, Time};

/// A first-in first-out line with departure times that do not decrease: no heap, no allocation
/// once it has grown to what is under way.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    packets: VecDeque<(Time, Packet)>,
    bytes: Bytes,
}

impl Ring {
    #[inline]
    pub(crate) fn push(&mut self, at: Time, packet: Packet) {
        debug_assert!(
            self.packets.back().is_none_or(|(last, _)| *last <= at),
            "departures are in order"
        );
        self.bytes += packet.len.bytes();
        self.packets.push_back((at, packet));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, Packet)> {
        let (at, packet) = self.packets.pop_front()?;
        self.bytes = self.bytes - packet.len.bytes();
        Some((at, packet))
    }

    #[inline]
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.packets.front().map(|(at, _)| *at)
    }

    /// The packet that leaves after so many others.
    #[inline]
    pub(crate) fn get(&self, after: usize) -> Option<&Packet> {
        self.packets.get(after).map(|(_, packet)| packet)
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
