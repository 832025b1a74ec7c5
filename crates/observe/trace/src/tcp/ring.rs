//! Data packets that are not acknowledged yet, in sequence order.

use super::since_micros;
use crate::index::prefetch;
use std::collections::VecDeque;
use unbloat_units::{Delta, Seq};

/// One data packet, or several that a bound made us merge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    /// One past its last byte.
    pub(super) end: Seq,
    /// When it passed, in microseconds of the flow's life, wrapping after 71 minutes: a round trip
    /// is shorter.
    pub(super) sent_us: u32,
    /// Unacknowledged bytes then.
    pub(super) in_flight: u32,
    /// Its bytes were seen once and in order; else its ACK gives no RTT (Karn).
    pub(super) is_clean: bool,
}

/// The oldest packet lies here, because most flows have no other; the rest is put aside. The memory
/// for it is given back whenever nothing is outstanding, but for large flows, which soon need it
/// again.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    oldest: Option<Outstanding>,
    #[expect(
        clippy::box_collection,
        reason = "a pointer in each of millions of flows"
    )]
    later: Option<Box<VecDeque<Outstanding>>>,
}

/// What an ACK removed from the ring.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acked {
    pub(super) packets: u32,
    /// When the oldest of them passed; means nothing without any.
    pub(super) oldest_us: u32,
    /// The newest packet that is acknowledged completely.
    pub(super) newest: Option<Outstanding>,
    /// One past the last of them that was not sent at once with the newest.
    pub(super) before_burst: Option<Seq>,
    /// None of them was seen twice or late.
    pub(super) clean: bool,
}

/// Packets farther apart were not sent at once: a full one lasts so long at 12 Mbit/s.
const APART: Delta = Delta::ms(1);

impl Ring {
    /// Asks for the memory that an ACK touches, if it lies elsewhere.
    #[inline]
    pub(super) fn prefetch(&self) {
        if let Some(later) = &self.later {
            prefetch(std::ptr::from_ref(later.as_ref()).cast());
        }
    }

    /// More packets in flight than this are kept merged in pairs: an ACK-less flood of data must
    /// not grow memory. At 1,460 bytes it is a window of 48 MB.
    const MAX: usize = 1 << 15;

    #[inline]
    pub(super) fn push(&mut self, end: Seq, sent_us: u32, in_flight: u32) {
        let packet = Outstanding {
            end,
            sent_us,
            in_flight,
            is_clean: true,
        };
        if self.oldest.is_none() {
            self.oldest = Some(packet);
            return;
        }
        let later = self.later.get_or_insert_default();
        if later.len() >= Self::MAX - 1 {
            later.pop_back();
        }
        later.push_back(packet);
    }

    /// Removes all packets up to `ack`.
    #[inline]
    pub(super) fn acknowledge(&mut self, ack: Seq) -> Acked {
        let mut acked = Acked {
            clean: true,
            oldest_us: self.oldest.map_or(0, |oldest| oldest.sent_us),
            ..Acked::default()
        };
        while let Some(oldest) = self.oldest {
            if oldest.end.after(ack) {
                break;
            }
            acked.packets += 1;
            acked.clean &= oldest.is_clean;
            let is_apart =
                |newest: &Outstanding| since_micros(oldest.sent_us, newest.sent_us) > APART;
            if let Some(before) = acked.newest.filter(is_apart) {
                acked.before_burst = Some(before.end);
            }
            acked.newest = Some(oldest);
            self.oldest = self.later.as_mut().and_then(|later| later.pop_front());
        }
        acked
    }

    /// Gives memory back when nothing is outstanding.
    #[inline]
    pub(super) fn release_if_idle(&mut self) {
        if self.oldest.is_none() && self.later.is_some() {
            self.later = None;
        }
    }

    /// The packet that holds the byte before `end`, if it is still outstanding.
    pub(super) fn find(&self, end: Seq) -> Option<Outstanding> {
        let oldest = self.oldest.filter(|p| !p.end.before(end));
        oldest.or_else(|| {
            let later = self.later.as_ref()?;
            let i = later.partition_point(|p| p.end.before(end));
            later.get(i).copied()
        })
    }

    /// Marks the packets that hold bytes of `start..end`, and the first one at or above `end`: an
    /// ACK that comes when a gap closes is not an answer to what lay above the gap. Returns when
    /// the marked packet was sent, and sets that to `now_us` where its bytes went out again.
    pub(super) fn mark(&mut self, start: Seq, end: Seq, now_us: u32) -> Option<u32> {
        let later = self.later.as_deref_mut();
        let from = later
            .as_ref()
            .map_or(0, |later| later.partition_point(|p| !p.end.after(start)));
        let later = later
            .into_iter()
            .flat_map(|later| later.iter_mut().skip(from));
        let oldest = self.oldest.iter_mut().filter(|p| p.end.after(start));
        let mut last_sent = None;
        for packet in oldest.chain(later) {
            packet.is_clean = false;
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
            ring.push(Seq::new(end), i as u32 * 10, end);
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
    fn a_packet_alone_needs_no_memory_aside_and_an_idle_flow_holds_none() {
        assert_eq!(size_of::<Ring>(), 24);
        let mut ring = Ring::default();
        ring.push(Seq::new(100), 0, 100);
        assert!(ring.later.is_none());
        ring.push(Seq::new(200), 0, 200);
        ring.acknowledge(Seq::new(200));
        ring.release_if_idle();
        assert!(ring.later.is_none());
    }

    #[test]
    fn memory_is_bounded_without_acks() {
        let mut ring = Ring::default();
        for i in 1..=(Ring::MAX as u32 * 2) {
            ring.push(Seq::new(i), i, i);
        }
        assert_eq!(ring.later.as_ref().map(|l| l.len()), Some(Ring::MAX - 1));
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
