//! Captured bytes beside the length they had on the wire.

/// What a header carries: the bytes of it that were captured, and its length by the headers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct View<'a> {
    pub(crate) bytes: &'a [u8],
    /// Bytes on the wire; never less than were captured.
    pub(crate) len: u32,
}

impl<'a> View<'a> {
    /// A whole record. Some writers state fewer bytes on the wire than they stored; then the
    /// stored ones count.
    pub(crate) fn record(bytes: &'a [u8], wire_len: u32) -> View<'a> {
        View {
            bytes,
            len: wire_len.max(bytes.len() as u32),
        }
    }

    /// What follows a header of `n` bytes; `None` if the capture ends within it.
    #[inline]
    pub(crate) fn skip(self, n: usize) -> Option<View<'a>> {
        Some(View {
            bytes: self.bytes.get(n..)?,
            len: self.len.saturating_sub(n as u32),
        })
    }

    /// The same bytes when a header states their length: less, so that padding goes, or more, where
    /// the record's length was lost.
    #[inline]
    pub(crate) fn stated(self, len: u32) -> View<'a> {
        let captured = self.bytes.len().min(len as usize);
        View {
            bytes: &self.bytes[..captured],
            len,
        }
    }
}

/// The 16-bit number at `at`; for arrays and constants the bounds check is decided at compile time.
#[inline(always)]
pub(crate) fn be16<const N: usize>(bytes: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The 32-bit number at `at`.
#[inline(always)]
pub(crate) fn be32<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The 64-bit number at `at`.
#[inline(always)]
pub(crate) fn be64<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}
