//! Numbers and lists in bytes that may be anything.

pub(crate) fn put_u32(to: &mut Vec<u8>, value: usize) {
    to.extend((value as u32).to_le_bytes());
}

/// The bytes that are still to be read. `None` is returned where there are too few.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    /// How many things follow, each of which takes `size` bytes or more: never more than there can be.
    pub(crate) fn count(&mut self, size: usize) -> Option<usize> {
        let count = self.u32()? as usize;
        (count <= self.0.len() / size).then_some(count)
    }
}
