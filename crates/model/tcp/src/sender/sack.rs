//! Selective acknowledgements into the scoreboard.
//!
//! # References
//! RFC 2018, RFC 2883 (D-SACK), RFC 6675; Linux 6.12 `tcp_sacktag_write_queue`, `tcp_sacktag_one`,
//! `tcp_check_dsack`.
//!
//! # Where we differ
//! 1. A block that covers a segment in part does not mark it.
//! 2. A D-SACK above the acknowledgement marks through the same walk as other blocks.

use super::Sender;
use super::ack::Seen;
use super::scoreboard::{Index, LOST, RETRANS, SACKED};
use crate::congestion::State;
use crate::segment::{Ack, Block};

/// The blocks of the last acknowledgement: what they cover is marked already.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    blocks: [Block; 4],
    len: usize,
}

impl Cache {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}

impl Sender {
    /// Marks what an acknowledgement newly reports.
    pub(super) fn take_sacks(&mut self, ack: &Ack, prior_una: u64, seen: &mut Seen) {
        if self.flow.sacked_out == 0 {
            self.board.highest_sacked = self.flow.snd_una;
            self.sack_cache.clear();
        }
        let duplicate = self.take_duplicate(ack, prior_una, seen);
        if self.flow.packets_out == 0 {
            return;
        }
        let mut blocks = [Block::default(); 4];
        let mut len = 0;
        for (n, block) in ack.blocks().enumerate() {
            let is_duplicate = n == 0 && duplicate;
            if self.is_plausible(block, is_duplicate) && block.end > prior_una {
                if is_duplicate {
                    self.mark_range(block, true, seen);
                } else {
                    blocks[len] = block;
                    len += 1;
                }
            }
        }
        let blocks = &mut blocks[..len];
        blocks.sort_unstable_by_key(|block| block.start);
        for &block in blocks.iter() {
            self.mark_new_part(block, seen);
        }
        self.sack_cache.blocks[..len].copy_from_slice(blocks);
        self.sack_cache.len = len;
        if self.flow.state != State::Loss || self.recovery.undo_marker.is_some() {
            self.note_reordering(seen.reordered_from);
        }
    }

    /// Whether a block can be meant: in what is outstanding, or as D-SACK not too far below.
    fn is_plausible(&self, block: Block, is_duplicate: bool) -> bool {
        if block.end > self.flow.snd_nxt || block.start >= block.end {
            return false;
        }
        if block.start > self.flow.snd_una {
            return true;
        }
        let Some(marker) = self.recovery.undo_marker.filter(|_| is_duplicate) else {
            return false;
        };
        block.end <= self.flow.snd_una
            && (block.start >= marker
                || block.end > marker && block.start + u64::from(self.max_peer_window) >= block.end)
    }

    /// Marks a block without what the last acknowledgement reported.
    fn mark_new_part(&mut self, block: Block, seen: &mut Seen) {
        let mut start = block.start;
        for n in 0..self.sack_cache.len {
            let known = self.sack_cache.blocks[n];
            if known.end <= start || known.start >= block.end {
                continue;
            }
            if known.start > start {
                let end = known.start;
                self.mark_range(Block { start, end }, false, seen);
            }
            start = known.end;
        }
        if start < block.end {
            let end = block.end;
            self.mark_range(Block { start, end }, false, seen);
        }
    }

    fn mark_range(&mut self, block: Block, is_duplicate: bool, seen: &mut Seen) {
        let mut i = self.board.find(block.start, self.params.mss);
        let end = self.board.range().end;
        while i < end && self.board.get(i).end <= block.end {
            if self.board.get(i).start() >= block.start {
                self.mark_segment(i, is_duplicate, seen);
            }
            i += 1;
        }
    }

    fn mark_segment(&mut self, i: Index, is_duplicate: bool, seen: &mut Seen) {
        let entry = *self.board.get(i);
        if is_duplicate && entry.was_retransmitted() {
            let after_marker = self
                .recovery
                .undo_marker
                .is_some_and(|marker| entry.end > marker);
            if after_marker {
                self.recovery.undo_retrans =
                    self.recovery.undo_retrans.map(|n| n.saturating_sub(1));
            }
            if entry.has(SACKED) {
                seen.reordered_from = seen.reordered_from.min(entry.start());
            }
        }
        if entry.end > self.flow.snd_una && !entry.has(SACKED) {
            self.mark_delivered(i, seen);
        }
        if is_duplicate && self.board.get(i).has(RETRANS) {
            self.board.get_mut(i).flags &= !RETRANS;
            self.flow.retrans_out -= 1;
        }
    }

    /// A segment has arrived out of order.
    fn mark_delivered(&mut self, i: Index, seen: &mut Seen) {
        let entry = *self.board.get(i);
        self.advance_rack(&entry);
        let mut flags = entry.flags | SACKED;
        if entry.has(RETRANS) {
            // Without the mark of loss both copies may be in flight, and one still is.
            if entry.has(LOST) {
                flags &= !(LOST | RETRANS);
                self.flow.lost_out -= 1;
                self.flow.retrans_out -= 1;
            }
        } else {
            if !entry.was_retransmitted() {
                self.note_original(&entry, seen);
            }
            if entry.has(LOST) {
                flags &= !LOST;
                self.flow.lost_out -= 1;
            }
        }
        self.sample_rate(i);
        self.board.get_mut(i).flags = flags;
        self.board.set_waiting(i, false);
        self.board.unlist(i);
        self.flow.sacked_out += 1;
        self.board.highest_sacked = self.board.highest_sacked.max(entry.end);
        seen.data_sacked = true;
        seen.sack_delivered += 1;
    }

    fn note_original(&self, entry: &super::scoreboard::Entry, seen: &mut Seen) {
        if entry.start() < self.board.highest_sacked {
            seen.reordered_from = seen.reordered_from.min(entry.start());
        }
        if entry.end <= self.recovery.high_seq {
            seen.original_acked = true;
        }
        seen.first_sacked_us.get_or_insert(entry.sent_us);
        seen.last_sacked_us = entry.sent_us;
    }

    /// Whether the first block is a D-SACK; if so, takes it as evidence.
    fn take_duplicate(&mut self, ack: &Ack, prior_una: u64, seen: &mut Seen) -> bool {
        let mut blocks = ack.blocks();
        let Some(first) = blocks.next() else {
            return false;
        };
        let is_below = first.start < ack.ack;
        let is_within = blocks
            .next()
            .is_some_and(|second| first.end <= second.end && first.start >= second.start);
        if !is_below && !is_within {
            return false;
        }
        let segments = self.duplicate_segments(first, seen);
        if segments == 0 {
            return false;
        }
        let counts = self
            .recovery
            .undo_marker
            .is_some_and(|marker| first.end > marker);
        if counts && first.end <= prior_una {
            let left = self
                .recovery
                .undo_retrans
                .map(|n| n.saturating_sub(segments));
            self.recovery.undo_retrans = left;
        }
        true
    }

    /// Segments that a D-SACK reports; zero if it cannot be due to our retransmissions.
    fn duplicate_segments(&mut self, block: Block, seen: &mut Seen) -> u32 {
        if block.end <= block.start || block.end - block.start > u64::from(self.max_peer_window) {
            return 0;
        }
        let len = block.end - block.start;
        let segments = len.div_ceil(u64::from(self.params.mss)) as u32;
        if segments == 1 && self.tlp.high_seq == Some(block.end) {
            seen.dsack_of_probe = true;
        }
        self.stats.duplicates_reported += u64::from(segments);
        if self.stats.duplicates_reported > self.stats.retransmissions {
            return 0;
        }
        if self.rack.reordering_seen && !seen.dsack_of_probe {
            self.rack.dsack_seen = true;
        }
        seen.dsack = true;
        seen.sack_delivered += segments;
        segments
    }

    /// End of the highest segment that was selectively acknowledged.
    pub(super) fn highest_sacked(&self) -> u64 {
        if self.flow.sacked_out == 0 {
            self.flow.snd_una
        } else {
            self.board.highest_sacked
        }
    }

    /// A segment at `from` arrived after later ones without having been sent again.
    pub(super) fn note_reordering(&mut self, from: u64) {
        let high = self.highest_sacked();
        if from >= high {
            return;
        }
        let mss = u64::from(self.params.mss);
        let distance = high - from;
        if distance > u64::from(self.rack.reordering) * mss {
            let segments = distance.div_ceil(mss) as u32;
            self.rack.reordering = segments.min(self.params.max_reordering);
        }
        self.rack.reordering_seen = true;
    }
}
