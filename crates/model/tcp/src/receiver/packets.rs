//! What one look of an application takes: segments that wait to be read are merged.
//!
//! A rule for the receive window looks after each merged packet that is read, while those behind it still wait.
//!
//! # References
//! Linux 6.12 `tcp_recvmsg_locked` (calls `tcp_rcv_space_adjust` for each packet), `tcp_try_coalesce`, `tcp_ofo_queue`.
//!
//! # Where we differ
//! 1. A segment is one fragment. Linux' may be two, where it crosses a page of its sender's.

use std::collections::VecDeque;

/// Fragments of a packet (`MAX_SKB_FRAGS`).
pub(super) const MOST: u64 = 17;

#[derive(Clone, Copy, Debug)]
struct Packet {
    end: u64,
    segments: u64,
}

/// Packets in order, not read.
#[derive(Clone, Debug, Default)]
pub(super) struct Packets(VecDeque<Packet>);

impl Packets {
    /// A segment has arrived in order, and what was held behind it is in order up to `next`.
    pub(super) fn arrived(&mut self, segment_end: u64, next: u64, size: u32) {
        self.append(segment_end, 1);
        let mut end = segment_end;
        while end < next {
            let held = (next - end).div_ceil(u64::from(size.max(1))).min(MOST);
            end = (end + held * u64::from(size.max(1))).min(next);
            self.append(end, held);
        }
    }

    /// Merged with the last one if both fit into one.
    fn append(&mut self, end: u64, segments: u64) {
        match self.0.back_mut() {
            Some(last) if last.segments + segments <= MOST => {
                last.end = end;
                last.segments += segments;
            }
            _ => self.0.push_back(Packet { end, segments }),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Where the next look ends that begins at `read` and may go on to `most`.
    pub(super) fn take(&mut self, most: u64) -> u64 {
        match self.0.front() {
            Some(first) if first.end <= most => {
                let end = first.end;
                self.0.pop_front();
                end
            }
            _ => most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(packets: &mut Packets, to: u64) -> Vec<u64> {
        let mut ends = Vec::new();
        while ends.last() != Some(&to) {
            ends.push(packets.take(to));
        }
        ends
    }

    #[test]
    fn seventeen_segments_are_one_packet() {
        let mut packets = Packets::default();
        for number in 1..=20 {
            packets.arrived(number * 100, number * 100, 100);
        }
        assert_eq!(looks(&mut packets, 2_000), [1_700, 2_000]);
    }

    #[test]
    fn what_was_held_is_a_packet_unless_it_fits_the_one_before() {
        let mut packets = Packets::default();
        // Seven segments, of which the last fills a hole before seventeen others.
        for number in 1..=6 {
            packets.arrived(number * 100, number * 100, 100);
        }
        packets.arrived(700, 2_400, 100);
        assert_eq!(looks(&mut packets, 2_400), [700, 2_400]);
        packets.arrived(2_500, 3_000, 100);
        assert_eq!(looks(&mut packets, 2_700), [2_700]);
        assert_eq!(looks(&mut packets, 3_000), [3_000]);
    }
}
