//! A moving view of a stream of bytes.

use std::io::{self, Read};

/// The bytes of a stream from some position on, as far as they have been read.
///
/// Memory grows only by bytes that have arrived, never by a length that the stream claims.
pub(crate) struct Window {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    failure: Option<io::Error>,
}

impl Window {
    /// Fits the second-level cache, so that bytes copied there by the kernel are read from there.
    pub(crate) const CAPACITY: usize = 256 << 10;

    pub(crate) fn new(input: Box<dyn Read + Send>, capacity: usize) -> Window {
        Window {
            input,
            buffer: vec![0; capacity],
            start: 0,
            end: 0,
            ended: false,
            failure: None,
        }
    }

    #[inline]
    pub(crate) fn view(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Moves on by bytes that are in view.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
    }

    /// Moves on by bytes that are in view and lends them.
    pub(crate) fn pass(&mut self, count: usize) -> &[u8] {
        self.consume(count);
        &self.buffer[self.start - count..self.start]
    }

    /// Tries to bring `count` bytes into view; says whether they are.
    pub(crate) fn want(&mut self, count: usize) -> bool {
        while self.end - self.start < count && !self.ended {
            self.read_more();
        }
        self.end - self.start >= count
    }

    /// Moves on by up to `count` bytes, in view or not; returns by how many.
    pub(crate) fn skip(&mut self, count: u64) -> u64 {
        let mut left = count;
        loop {
            let step = left.min((self.end - self.start) as u64);
            self.start += step as usize;
            left -= step;
            if left == 0 || !self.want(1) {
                return count - left;
            }
        }
    }

    pub(crate) fn widen(&mut self, capacity: usize) {
        if self.buffer.len() < capacity {
            self.buffer.resize(capacity, 0);
        }
    }

    /// Why the stream ended, if not by its own end.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    fn read_more(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        match self.input.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.ended = true,
            Ok(count) => self.end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                self.ended = true;
                self.failure = Some(error);
            }
        }
    }
}

/// A decompressor reads a window from its beginning: what was looked at is not lost.
impl Read for Window {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.want(1) {
            return self.failure.take().map_or(Ok(0), Err);
        }
        let count = out.len().min(self.end - self.start);
        out[..count].copy_from_slice(self.pass(count));
        Ok(count)
    }
}
