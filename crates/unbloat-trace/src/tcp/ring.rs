//! Data packets that are not acknowledged yet, in sequence order.

use crate::index::prefetch;
use std::collections::VecDeque;
use unbloat_units::Seq;

/// One data packet, or several that a bound made us merge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    /// One past its last byte.
    pub(super) end: Seq,
    /// When it passed, in microseconds of the flow's life, wrapping after 71 minutes: a round trip
    /// is shorter.
    pub(super) sent_us: u32,
    /// Unacknowledged bytes then; the top bit says that its bytes were seen more than once, or
    /// late, so that its ACK gives no RTT (Karn).
    in_flight: u32,
    /// IP identification of the packet, zero if it had none.
    pub(super) ip_id: u16,
}

const UNCLEAN: u32 = 1 << 31;

impl Outstanding {
    pub(super) fn in_flight(self) -> u32 {
        self.in_flight & !UNCLEAN
    }

    pub(super) fn is_clean(self) -> bool {
        self.in_flight & UNCLEAN == 0
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    packets: VecDeque<Outstanding>,
}

/// What an ACK removed from the ring.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acked {
    pub(super) packets: u32,
    /// When the oldest of them passed; means nothing without any.
    pub(super) oldest_us: u32,
    /// The newest packet that is acknowledged completely.
    pub(super) newest: Option<Outstanding>,
    /// None of them was seen twice or late.
    pub(super) clean: bool,
}

impl Ring {
    /// Gives memory back that holds nothing.
    pub(super) fn release(&mut self) {
        if self.packets.is_empty() {
            self.packets = VecDeque::new();
        }
    }

    #[inline]
    pub(super) fn prefetch_oldest(&self) {
        if let Some(oldest) = self.packets.front() {
            prefetch(std::ptr::from_ref(oldest).cast());
        }
    }

    #[inline]
    pub(super) fn prefetch_newest(&self) {
        if let Some(newest) = self.packets.back() {
            prefetch(std::ptr::from_ref(newest).cast());
        }
    }

    /// More packets in flight than this are kept merged in pairs: an ACK-less flood of data must
    /// not grow memory. At 1,460 bytes it is a window of 48 MB.
    const MAX: usize = 1 << 15;

    pub(super) fn push(&mut self, end: Seq, sent_us: u32, in_flight: u32, ip_id: u16) {
        if self.packets.capacity() == 0 {
            // Half an initial window (RFC 6928): requests need no more, and responses grow it once.
            self.packets.reserve_exact(5);
        }
        if self.packets.len() >= Self::MAX {
            self.packets.pop_back();
        }
        let in_flight = in_flight.min(UNCLEAN - 1);
        self.packets.push_back(Outstanding {
            end,
            sent_us,
            in_flight,
            ip_id,
        });
    }

    /// Removes all packets up to `ack`.
    pub(super) fn acknowledge(&mut self, ack: Seq) -> Acked {
        let mut acked = Acked {
            clean: true,
            oldest_us: self.packets.front().map_or(0, |oldest| oldest.sent_us),
            ..Acked::default()
        };
        while let Some(&front) = self.packets.front() {
            if front.end.after(ack) {
                break;
            }
            acked.packets += 1;
            acked.clean &= front.is_clean();
            acked.newest = Some(front);
            self.packets.pop_front();
        }
        if self.packets.is_empty() && self.packets.capacity() > 64 {
            self.packets.shrink_to(16);
        }
        acked
    }

    /// The packet that holds the byte before `end`, if it is still outstanding.
    pub(super) fn find(&self, end: Seq) -> Option<Outstanding> {
        let i = self.packets.partition_point(|p| p.end.before(end));
        self.packets.get(i).copied()
    }

    /// Marks the packets that hold bytes of `start..end`, and the first one at or above `end`: an
    /// ACK that comes when a gap closes is not an answer to what lay above the gap. Returns when
    /// the marked packet was sent, and sets that to `now_us` where its bytes went out again.
    pub(super) fn mark(&mut self, start: Seq, end: Seq, now_us: u32) -> Option<u32> {
        let from = self.packets.partition_point(|p| !p.end.after(start));
        let mut last_sent = None;
        for packet in self.packets.iter_mut().skip(from) {
            packet.in_flight |= UNCLEAN;
            if !packet.end.before(end) {
                last_sent.get_or_insert(packet.sent_us);
                if packet.end == end {
                    packet.sent_us = now_us;
                }
                break;
            }
            last_sent.get_or_insert(packet.sent_us);
            packet.sent_us = now_us;
        }
        last_sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Ring {
        let mut ring = Ring::default();
        for (i, end) in [100, 200, 300].into_iter().enumerate() {
            ring.push(Seq::new(end), i as u32 * 10, end, 0);
        }
        ring
    }

    #[test]
    fn an_ack_removes_what_it_covers_and_keeps_what_it_cuts() {
        let mut ring = ring();
        let acked = ring.acknowledge(Seq::new(250));
        assert_eq!(
            (acked.packets, acked.newest.unwrap().end),
            (2, Seq::new(200))
        );
        assert_eq!(ring.acknowledge(Seq::new(300)).packets, 1);
    }

    #[test]
    fn marked_packets_give_no_clean_sample() {
        let mut ring = ring();
        assert_eq!(ring.mark(Seq::new(0), Seq::new(100), 99), Some(0));
        assert!(!ring.acknowledge(Seq::new(100)).clean);
        assert!(ring.acknowledge(Seq::new(300)).clean);
    }

    #[test]
    fn memory_is_bounded_without_acks() {
        let mut ring = Ring::default();
        for i in 1..=(Ring::MAX as u32 * 2) {
            ring.push(Seq::new(i), i, i, 0);
        }
        assert_eq!(ring.packets.len(), Ring::MAX);
        assert_eq!(
            ring.acknowledge(Seq::new(Ring::MAX as u32 * 2))
                .newest
                .unwrap()
                .end
                .raw(),
            Ring::MAX as u32 * 2
        );
    }
}
