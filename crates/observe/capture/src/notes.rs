//! What a source could not deliver, kept to the end so that a result never looks more complete
//! than its capture was.

use serde::{Deserialize, Serialize};
use std::fmt;
use unbloat_units::Bytes;

/// What there is to know of a source beside its packets. Final once the source has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes {
    /// One entry for each input that ended before its end.
    pub damage: Vec<Damage>,
    /// Packets delivered.
    pub packets: u64,
    /// Packets that the capturing kernel or interface said it dropped: pcapng's interface
    /// statistics (`isb_ifdrop` + `isb_osdrop`, the last of each interface), or the live ring's
    /// count. `None` when nobody said; plain pcap has no room for it.
    pub kernel_drops: Option<u64>,
    /// Packets whose time lies before that of the packet before them in the same input.
    pub backward_steps: u64,
}

impl Notes {
    /// Takes in the notes of another input of the same trace.
    pub fn absorb(&mut self, other: Notes) {
        self.damage.extend(other.damage);
        self.packets += other.packets;
        self.backward_steps += other.backward_steps;
        if let Some(drops) = other.kernel_drops {
            self.kernel_drops = Some(self.kernel_drops.unwrap_or(0).saturating_add(drops));
        }
    }
}

/// Where and how an input ended too early. Everything before was delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// The file's path, or "standard input".
    pub input: String,
    /// Where the first thing that could not be read begins, in bytes of the capture itself: of a
    /// compressed input, after decompression.
    pub offset: u64,
    /// Packets that this input delivered before.
    pub packets: u64,
    pub kind: DamageKind,
}

/// What is wrong at the damaged place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum DamageKind {
    #[error("the file ends within a record")]
    Cut,
    #[error("the file is empty")]
    Empty,
    #[error("a record claims {captured} captured bytes, more than any capture stores")]
    RecordLength { captured: u32 },
    #[error("a record is zeros, as in a file that was not written to its end")]
    Zeros,
    #[error("a pcapng block of type {block:#x} claims a length of {length} bytes")]
    BlockLength { block: u32, length: u32 },
    #[error("a pcapng block has length {length} at its start and {trailer} at its end")]
    BlockTrailer { length: u32, trailer: u32 },
    #[error("a packet refers to interface {interface}, but only {described} are described")]
    Interface { interface: u32, described: usize },
    #[error("a section describes more than {limit} interfaces")]
    Interfaces { limit: usize },
    #[error("a pcapng section header is malformed or has an unknown version")]
    Section,
    #[error("the compressed data is truncated or corrupt: {0}")]
    Compression(String),
    #[error("reading failed: {0}")]
    Read(String),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: stopped at byte {} after {} packets: {}",
            self.input, self.offset, self.packets, self.kind
        )
    }
}

/// How far a source has come, in bytes of its inputs as stored (compressed ones count compressed).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub done: Bytes,
    /// `None` for standard input and live capture.
    pub total: Option<Bytes>,
    /// Packets that the kernel has dropped so far in live capture.
    pub dropped: u64,
}
