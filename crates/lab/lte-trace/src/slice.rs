//! Frames of a stretch of time.

use unbloat_units::Time;

/// A frame as the monitor captured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Since the start of the trace.
    pub at: Time,
    pub wire_len: u32,
    /// From the Ethernet header on, cut behind the last header or HTTP head.
    pub data: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    user: u32,
    wire_len: u32,
    start: usize,
    len: usize,
}

/// Frames of some users between two times.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

impl Slice {
    /// Adds a frame that `write` appends to the bytes, whose result is its length on the wire.
    pub(crate) fn push(&mut self, at: Time, user: u32, write: impl FnOnce(&mut Vec<u8>) -> u32) {
        let start = self.bytes.len();
        let wire_len = write(&mut self.bytes);
        self.entries.push(Entry {
            at,
            user,
            wire_len,
            start,
            len: self.bytes.len() - start,
        });
    }

    /// Orders frames by time, then by user; those of one user keep their order.
    pub(crate) fn sort(&mut self) {
        self.entries.sort_by_key(|entry| (entry.at, entry.user));
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn frame(&self, index: usize) -> Frame<'_> {
        let entry = &self.entries[index];
        Frame {
            at: entry.at,
            wire_len: entry.wire_len,
            data: &self.bytes[entry.start..entry.start + entry.len],
        }
    }

    /// By what slices of the same time are merged.
    pub fn key(&self, index: usize) -> (Time, u32) {
        let entry = &self.entries[index];
        (entry.at, entry.user)
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
    }
}
