//! Reads big-endian fields off the front of a slice; past its end everything is `None`.

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes, all of them.
    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(taken)
    }

    /// As many of the next `n` bytes as are there.
    pub(crate) fn take_visible(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(n.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u24(&mut self) -> Option<u32> {
        self.array()
            .map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// A QUIC variable-length integer (RFC 9000 §16).
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let first = self.u8()?;
        let more = (1usize << (first >> 6)) - 1;
        let start = u64::from(first & 0x3f);
        Some(
            self.take(more)?
                .iter()
                .fold(start, |n, &b| n << 8 | u64::from(b)),
        )
    }

    /// A varint that counts bytes; what no slice can hold saturates.
    pub(crate) fn varint_len(&mut self) -> Option<usize> {
        self.varint()
            .map(|n| usize::try_from(n).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_length_integers_read_as_in_rfc_9000_appendix_a_1() {
        let read = |bytes: &[u8]| Cursor::new(bytes).varint();
        let eight = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(read(&eight), Some(151_288_809_941_952_652));
        assert_eq!(read(&[0x9d, 0x7f, 0x3e, 0x7d]), Some(494_878_333));
        assert_eq!(read(&[0x7b, 0xbd]), Some(15_293));
        assert_eq!(read(&[0x25]), Some(37));
        assert_eq!(read(&[0x40, 0x25]), Some(37));
        assert_eq!(read(&[0x40]), None);
    }

    #[test]
    fn a_failed_read_leaves_the_rest_unread() {
        let mut cursor = Cursor::new(&[1, 2]);
        assert_eq!(cursor.u24(), None);
        assert_eq!(cursor.u16(), Some(0x0102));
        assert!(cursor.is_empty());
    }
}
