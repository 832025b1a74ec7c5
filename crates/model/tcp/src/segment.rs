//! What goes over the wire between a sender and a receiver: segments one way, acknowledgements back.
//!
//! Positions in the stream are 64-bit offsets from its first byte, so that nothing in the state
//! machines wraps. [`Seq`] is what a header carries: `Seq::new(offset as u32)`.

use unbloat_units::{Seq, Time};

/// The ECN field of the IP header (RFC 3168 section 5; ECT(1) for L4S, RFC 9331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    #[default]
    NotEct,
    Ect1,
    Ect0,
    Ce,
}

/// The timestamps option (RFC 7323), in milliseconds as in Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    pub value: Seq,
    pub echo: Seq,
}

impl Timestamps {
    /// TSval at `now`. One second ahead of the clock, because an echo of zero means "none".
    pub fn clock(now: Time) -> Seq {
        Seq::new((now.as_ns() / 1_000_000 + 1_000) as u32)
    }

    /// Older than what was accepted last, by more than the tick that Linux grants (RFC 7323 section 5, `TCP_PAWS_WINDOW`).
    pub(crate) fn is_out_of_date(&self, accepted: Seq) -> bool {
        accepted.since(self.value) > 1
    }
}

/// Bytes of IPv4 and TCP header without options.
const HEADER: u32 = 40;
/// The timestamps option with its padding.
const TIMESTAMPS: u32 = 12;

/// Data on the way to the receiver. One without data is a window probe: it asks for an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first byte.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    pub timestamps: Option<Timestamps>,
    /// As sent; the network may turn ECT into CE.
    pub ecn: Ecn,
    /// The sender has reduced its window since the last ECE (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// Nothing was left to send after it.
    pub push: bool,
    /// Carries bytes that were sent before. Not on the wire: for counting.
    pub is_retransmission: bool,
}

impl Segment {
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64
    }

    /// Length at IP level.
    pub const fn ip_len(&self) -> u32 {
        let options = if self.timestamps.is_some() {
            TIMESTAMPS
        } else {
            0
        };
        HEADER + options + self.len
    }
}

/// A range of the stream that a receiver holds, from `start` to before `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub start: u64,
    pub end: u64,
}

/// The SACK option: up to four blocks, three beside timestamps; the first may be a D-SACK (RFC 2883).
///
/// Kept as on the wire, 32 bits each, relative to the acknowledgement that carries them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    ranges: [(i32, u32); 4],
    len: u8,
}

impl SackBlocks {
    /// Adds a block; one beyond the fourth is not added.
    pub fn push(&mut self, ack: u64, block: Block) {
        if let Some(slot) = self.ranges.get_mut(self.len as usize) {
            let length = block.end - block.start;
            *slot = (block.start.wrapping_sub(ack) as i32, length as u32);
            self.len += 1;
        }
    }

    pub const fn len(&self) -> usize {
        self.len as usize
    }

    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks of an option in an acknowledgement of `ack`.
    pub fn blocks(&self, ack: u64) -> impl Iterator<Item = Block> + '_ {
        self.ranges[..self.len()]
            .iter()
            .map(move |&(start, length)| {
                let start = ack.wrapping_add_signed(i64::from(start));
                Block {
                    start,
                    end: start + u64::from(length),
                }
            })
    }
}

/// What a receiver that speaks AccECN has counted (draft-ietf-tcpm-accurate-ecn).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CeCount {
    /// Packets with CE that have arrived so far.
    pub packets: u32,
}

/// An acknowledgement without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Offset of the next byte that is expected.
    pub ack: u64,
    /// Offered window in bytes, as it is after scaling.
    pub window: u32,
    pub timestamps: Option<Timestamps>,
    pub sack: SackBlocks,
    /// Echo of CE until CWR arrives (RFC 3168 section 6.1.3).
    pub ece: bool,
    pub ce: Option<CeCount>,
}

impl Ack {
    /// Length at IP level.
    pub const fn ip_len(&self) -> u32 {
        let timestamps = if self.timestamps.is_some() {
            TIMESTAMPS
        } else {
            0
        };
        let sack = if self.sack.is_empty() {
            0
        } else {
            4 + 8 * self.sack.len() as u32
        };
        HEADER + timestamps + sack
    }

    /// The blocks of its SACK option.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        self.sack.blocks(self.ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_as_they_went_in_also_below_the_acknowledgement() {
        let ack = (1 << 40) + 5;
        let below = Block {
            start: ack - 3_000,
            end: ack - 1_000,
        };
        let above = Block {
            start: ack + 1_000,
            end: ack + 70_000,
        };
        let mut sack = SackBlocks::default();
        sack.push(ack, below);
        sack.push(ack, above);
        assert_eq!(sack.blocks(ack).collect::<Vec<_>>(), [below, above]);
    }

    #[test]
    fn lengths_count_headers_and_options() {
        let mut ack = Ack {
            ack: 0,
            window: 0,
            timestamps: Some(Timestamps::default()),
            sack: SackBlocks::default(),
            ece: false,
            ce: None,
        };
        assert_eq!(ack.ip_len(), 52);
        for n in 0..3 {
            ack.sack.push(
                0,
                Block {
                    start: 10 * n + 5,
                    end: 10 * n + 10,
                },
            );
        }
        assert_eq!(ack.ip_len(), 80);
    }
}
