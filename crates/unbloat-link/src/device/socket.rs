//! The send buffer of a socket: what an application has written and the transport still keeps.
//!
//! # References
//! Linux `sk_stream_is_writeable`, `tcp_stream_memory_free` (`TCP_NOTSENT_LOWAT`, `SO_SNDBUF`).
//!
//! # Where we differ
//! 1. Payload bytes count, not the memory of the buffers that hold them.
//! 2. A write stops exactly at a limit; Linux fills the segment that it has begun.

use std::collections::VecDeque;
use unbloat_units::{Bytes, Delta, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// SO_SNDBUF: bytes written and not acknowledged.
    pub limit: Bytes,
    /// TCP_NOTSENT_LOWAT: bytes written and not yet sent.
    pub notsent_lowat: Option<Bytes>,
}

/// 4 MiB, the largest that `tcp_wmem` lets Linux grow to, and no bound on what is not sent.
impl Default for Params {
    fn default() -> Params {
        Params {
            limit: Bytes::mib(4),
            notsent_lowat: None,
        }
    }
}

/// A send buffer.
#[derive(Clone, Debug)]
pub struct SendBuffer {
    params: Params,
    written: u64,
    sent: u64,
    acked: u64,
    /// When the bytes up to each mark were written, for those not sent.
    marks: VecDeque<(u64, Time)>,
}

impl SendBuffer {
    pub fn new(params: Params) -> SendBuffer {
        SendBuffer {
            params,
            written: 0,
            sent: 0,
            acked: 0,
            marks: VecDeque::new(),
        }
    }

    /// Takes as much of a write as there is room for.
    pub fn write(&mut self, now: Time, bytes: Bytes) -> Bytes {
        let taken = bytes.min(self.room());
        if taken > Bytes::ZERO {
            self.written += taken.as_u64();
            match self.marks.back_mut() {
                Some((end, at)) if *at == now => *end = self.written,
                _ => self.marks.push_back((self.written, now)),
            }
        }
        taken
    }

    /// What a write could take now.
    pub fn room(&self) -> Bytes {
        let below_limit = self.params.limit - self.kept();
        match self.params.notsent_lowat {
            Some(lowat) => below_limit.min(lowat - self.unsent()),
            None => below_limit,
        }
    }

    /// Whether an application that waits for room is woken: a third of the buffer is free and, with a
    /// low-water mark, less than half of it waits to be sent.
    pub fn is_writable(&self) -> bool {
        let free = self.params.limit - self.kept();
        let waits = self.unsent().as_u64().saturating_mul(2);
        free.as_u64() >= self.kept().as_u64() / 2
            && free > Bytes::ZERO
            && self
                .params
                .notsent_lowat
                .is_none_or(|lowat| waits < lowat.as_u64())
    }

    /// The transport sends the next bytes for the first time; returns how long the first of them has
    /// waited (T_S).
    ///
    /// # Panics
    /// When so much was not written.
    pub fn sent(&mut self, now: Time, bytes: Bytes) -> Delta {
        assert!(bytes <= self.unsent(), "only what was written is sent");
        let since = self.marks.front().map_or(now, |(_, at)| *at);
        self.sent += bytes.as_u64();
        while self.marks.front().is_some_and(|(end, _)| *end <= self.sent) {
            self.marks.pop_front();
        }
        now - since
    }

    /// The other end has acknowledged the next bytes.
    ///
    /// # Panics
    /// When so much was not sent.
    pub fn acked(&mut self, bytes: Bytes) {
        let acked = self.acked + bytes.as_u64();
        assert!(acked <= self.sent, "only what was sent is acknowledged");
        self.acked = acked;
    }

    /// Bytes that wait to be sent for the first time.
    pub fn unsent(&self) -> Bytes {
        Bytes::new(self.written - self.sent)
    }

    /// Bytes written and not acknowledged.
    pub fn kept(&self) -> Bytes {
        Bytes::new(self.written - self.acked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at_ms;

    fn bytes(n: u64) -> Bytes {
        Bytes::new(n)
    }

    #[test]
    fn a_write_is_cut_at_the_limit_and_acknowledgements_make_room() {
        let mut socket = SendBuffer::new(Params {
            limit: bytes(3_000),
            notsent_lowat: None,
        });
        assert_eq!(socket.write(at_ms(0), bytes(5_000)), bytes(3_000));
        assert!(!socket.is_writable());
        socket.sent(at_ms(1), bytes(2_000));
        assert_eq!(socket.room(), Bytes::ZERO);
        socket.acked(bytes(999));
        assert!(!socket.is_writable(), "999 free, 2001 kept");
        socket.acked(bytes(1));
        assert!(socket.is_writable(), "1000 free, 2000 kept");
        assert_eq!(socket.write(at_ms(2), bytes(5_000)), bytes(1_000));
    }

    #[test]
    fn a_low_water_mark_bounds_what_waits_and_wakes_at_half() {
        let mut socket = SendBuffer::new(Params {
            limit: bytes(100_000),
            notsent_lowat: Some(bytes(4_000)),
        });
        assert_eq!(socket.write(at_ms(0), bytes(50_000)), bytes(4_000));
        socket.sent(at_ms(1), bytes(2_000));
        assert!(!socket.is_writable(), "half still waits");
        socket.sent(at_ms(2), bytes(1));
        assert!(socket.is_writable());
        assert_eq!(socket.room(), bytes(2_001));
    }

    #[test]
    fn a_segment_tells_how_long_its_first_byte_has_waited() {
        let mut socket = SendBuffer::new(Params::default());
        socket.write(at_ms(0), bytes(1_000));
        socket.write(at_ms(5), bytes(1_000));
        let waits = [600, 400, 500, 500].map(|n| socket.sent(at_ms(10), bytes(n)));
        assert_eq!(waits, [10, 10, 5, 5].map(Delta::ms));
        socket.write(at_ms(12), bytes(1));
        assert_eq!(socket.sent(at_ms(12), bytes(1)), Delta::ZERO);
    }
}
