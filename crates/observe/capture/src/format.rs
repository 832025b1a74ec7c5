//! What the decoders of file formats share: they look at bytes and say what stands there.

use crate::notes::DamageKind;
use unbloat_units::Time;
use unbloat_wire::LinkType;

/// The most bytes that a record may claim to hold: libpcap's largest snap length. A larger claim
/// is corruption.
pub(crate) const MAX_CAPTURED: u32 = 262_144;

/// A packet found at the beginning of the bytes looked at; places are relative to these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) time: Time,
    pub(crate) link: LinkType,
    pub(crate) wire_len: u32,
    /// Where its data begin.
    pub(crate) start: usize,
    /// Where its data end.
    pub(crate) end: usize,
    /// Where the next record begins.
    pub(crate) used: usize,
}

/// What stands at the beginning of the bytes looked at.
#[derive(Debug)]
pub(crate) enum Step {
    Frame(Frame),
    /// So many bytes that are no packet; taken note of, not to be looked at again.
    Skip(u64),
    /// So many bytes must be there before anything can be said.
    Need(usize),
    Corrupt(DamageKind),
}

/// A format's decoder. Looking twice at the same packet gives the same answer; only what is
/// answered by [`Step::Skip`] may change the decoder.
pub(crate) trait Format {
    fn step(&mut self, bytes: &[u8]) -> Step;
}

/// Fixed-size integers in the byte order that a capture was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteOrder {
    pub(crate) big_endian: bool,
}

impl ByteOrder {
    /// The `N` bytes at `at`; the caller has made sure that they exist.
    #[inline(always)]
    fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
        bytes[at..at + N].try_into().expect("N bytes were taken")
    }

    #[inline(always)]
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let value = u16::from_le_bytes(Self::array(bytes, at));
        if self.big_endian {
            value.swap_bytes()
        } else {
            value
        }
    }

    #[inline(always)]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let value = u32::from_le_bytes(Self::array(bytes, at));
        if self.big_endian {
            value.swap_bytes()
        } else {
            value
        }
    }

    /// Four numbers behind one another: the order is asked for once.
    #[inline(always)]
    pub(crate) fn four_u32(self, bytes: &[u8; 16]) -> [u32; 4] {
        let values = [0, 4, 8, 12].map(|at| u32::from_le_bytes(Self::array(bytes, at)));
        if self.big_endian {
            values.map(u32::swap_bytes)
        } else {
            values
        }
    }

    #[inline(always)]
    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let value = u64::from_le_bytes(Self::array(bytes, at));
        if self.big_endian {
            value.swap_bytes()
        } else {
            value
        }
    }
}
