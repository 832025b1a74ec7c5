//! Which blocks an acknowledgement reports: the most recent first.
//!
//! # References
//! RFC 2018 section 4, RFC 2883; Linux 6.12 `tcp_sack_new_ofo_skb`. As there, a block that had to be
//! forgotten for want of room is reported again only with what arrives next to it.

use super::Receiver;
use crate::segment::{Block, SackBlocks, Segment};

const KEPT: usize = 4;
/// With as many blocks as every ACK has room for, one lost ACK is no loss of news.
const EXPECTED: usize = 2;

#[derive(Clone, Debug, Default)]
pub(super) struct Sacks {
    blocks: [Block; KEPT],
    len: usize,
    /// What arrived twice; reported once.
    pub duplicate: Option<Block>,
}

impl Block {
    /// Takes in a block that overlaps or touches.
    fn join(&mut self, other: Block) -> bool {
        let touches = other.start <= self.end && self.start <= other.end;
        if touches {
            self.start = self.start.min(other.start);
            self.end = self.end.max(other.end);
        }
        touches
    }
}

impl Sacks {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn extend_duplicate(&mut self, start: u64, end: u64) {
        let new = Block { start, end };
        match &mut self.duplicate {
            Some(block) => {
                block.join(new);
            }
            none => *none = Some(new),
        }
    }

    /// The block that a segment touches, if it is kept.
    fn touched(&self, new: Block) -> Option<usize> {
        self.blocks[..self.len].iter().position(|&block| {
            let mut joined = block;
            joined.join(new)
        })
    }

    /// Whether taking in `new` concerns blocks that not every ACK has room for.
    pub(super) fn overflows(&self, new: Block) -> bool {
        self.touched(new).unwrap_or(self.len) >= EXPECTED
    }

    /// Puts the block of a segment that has just arrived first.
    pub(super) fn add(&mut self, new: Block) {
        match self.touched(new) {
            Some(n) => {
                self.blocks[n].join(new);
                self.blocks[..=n].rotate_right(1);
                self.merge_into_first();
            }
            None => {
                self.len = (self.len + 1).min(KEPT);
                self.blocks[..self.len].rotate_right(1);
                self.blocks[0] = new;
            }
        }
    }

    fn merge_into_first(&mut self) {
        let mut n = 1;
        while n < self.len {
            let other = self.blocks[n];
            if self.blocks[0].join(other) {
                self.blocks[n..self.len].rotate_left(1);
                self.len -= 1;
            } else {
                n += 1;
            }
        }
    }

    /// Forgets blocks that the stream has reached.
    pub(super) fn advance(&mut self, next: u64, all: bool) {
        if self.len == 0 {
            return;
        }
        if all {
            self.len = 0;
            return;
        }
        let mut kept = 0;
        for n in 0..self.len {
            if self.blocks[n].start > next {
                self.blocks[kept] = self.blocks[n];
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// The option of an acknowledgement of `ack`, with the D-SACK first, which is then forgotten.
    pub(super) fn option(&mut self, ack: u64, limit: usize) -> SackBlocks {
        let mut option = SackBlocks::default();
        if let Some(block) = self.duplicate.take() {
            option.push(ack, block);
        }
        for &block in &self.blocks[..self.len] {
            if option.len() < limit {
                option.push(ack, block);
            }
        }
        option
    }
}

impl Receiver {
    /// Notes a segment that arrived out of order; an ACK that was held back leaves first if the
    /// news in it could get lost.
    pub(super) fn add_sack(&mut self, segment: &Segment) {
        let new = Block {
            start: segment.seq,
            end: segment.end(),
        };
        if self.sacks.overflows(new) && self.acking.is_compressing() {
            let duplicate = self.sacks.duplicate.take();
            let ack = self.make_ack();
            self.staged = Some(ack);
            self.sacks.duplicate = duplicate;
            // The segment at hand is still to be acknowledged.
            self.acking.scheduled = true;
        }
        self.sacks.add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u64, end: u64) -> Block {
        Block { start, end }
    }

    fn blocks(sacks: &mut Sacks, ack: u64) -> Vec<Block> {
        sacks.option(ack, 4).blocks(ack).collect()
    }

    /// RFC 2018 section 4, third example of a sender of eight segments of 500 bytes from 5000: the
    /// 2nd, 4th, 6th and 8th are dropped.
    #[test]
    fn every_other_segment_lost_gives_the_blocks_of_rfc_2018() {
        let mut sacks = Sacks::default();
        for start in [6_000, 7_000, 8_000] {
            sacks.add(block(start, start + 500));
        }
        let option = blocks(&mut sacks, 5_500);
        let expected = [
            block(8_000, 8_500),
            block(7_000, 7_500),
            block(6_000, 6_500),
        ];
        assert_eq!(option, expected);
        // Then the 4th arrives out of order, after it the 2nd.
        sacks.add(block(6_500, 7_000));
        assert_eq!(
            blocks(&mut sacks, 5_500),
            [block(6_000, 7_500), block(8_000, 8_500)]
        );
        sacks.advance(7_500, false);
        assert_eq!(blocks(&mut sacks, 7_500), [block(8_000, 8_500)]);
    }

    #[test]
    fn a_duplicate_is_reported_once_and_before_the_others() {
        let mut sacks = Sacks::default();
        sacks.add(block(300, 400));
        sacks.extend_duplicate(0, 100);
        let first: Vec<_> = sacks.option(200, 3).blocks(200).collect();
        assert_eq!(first, [block(0, 100), block(300, 400)]);
        let second: Vec<_> = sacks.option(200, 3).blocks(200).collect();
        assert_eq!(second, [block(300, 400)]);
    }
}
