//! A WebSocket whose load is counted and thrown away before anybody assembles messages from it.
//!
//! Clients of ndt7 may send messages of 16 MiB, and browsers do send 8 MiB: who holds each until it is complete owes every client as
//! much. Here the payload of frames that carry load is left out on the way, and their headers say so (RFC 6455, 5.2); all other
//! frames pass as they are.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Read at a time.
const PIECE: usize = 16 << 10;
const BINARY: u8 = 2;
const CONTINUATION: u8 = 0;
/// From here on they are control frames.
const CLOSE: u8 = 8;

/// Bytes of load so far.
#[derive(Clone, Default)]
pub struct Load(Arc<AtomicU64>);

impl Load {
    /// What came since it was asked last.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

pub struct Thin<S> {
    inner: S,
    load: Load,
    frames: Frames,
    /// To be given out.
    thin: Vec<u8>,
    given: usize,
}

impl<S> Thin<S> {
    pub fn new(inner: S, load: Load) -> Thin<S> {
        Thin {
            inner,
            load,
            frames: Frames::default(),
            thin: Vec::new(),
            given: 0,
        }
    }
}

/// Where the stream of frames stands.
#[derive(Default)]
pub(crate) struct Frames {
    header: Vec<u8>,
    /// Of the payload that follows.
    left: u64,
    is_load: bool,
    /// The message that continuations are of is one of load.
    is_load_message: bool,
}

impl Frames {
    /// Takes what came; adds to `thin` what is no load, and says how much was.
    pub(crate) fn take(&mut self, mut bytes: &[u8], thin: &mut Vec<u8>) -> u64 {
        let mut load = 0;
        while !bytes.is_empty() {
            if self.left == 0 {
                let (first, rest) = bytes.split_at(1);
                self.header.extend_from_slice(first);
                bytes = rest;
                if self.header.len() == header_len(&self.header) {
                    self.begin(thin);
                }
                continue;
            }
            let here = usize::try_from(self.left).unwrap_or(usize::MAX);
            let (payload, rest) = bytes.split_at(here.min(bytes.len()));
            self.left -= payload.len() as u64;
            bytes = rest;
            match self.is_load {
                true => load += payload.len() as u64,
                false => thin.extend_from_slice(payload),
            }
        }
        load
    }

    /// A header is complete.
    fn begin(&mut self, thin: &mut Vec<u8>) {
        let kind = self.header[0] & 0x0f;
        if kind < CLOSE && kind != CONTINUATION {
            self.is_load_message = kind == BINARY;
        }
        self.is_load = kind < CLOSE && self.is_load_message;
        self.left = payload_len(&self.header);
        if self.is_load {
            // As long as nothing; the mask stays.
            let length = length_bytes(&self.header);
            thin.extend([self.header[0], self.header[1] & 0x80]);
            thin.extend_from_slice(&self.header[2 + length..]);
        } else {
            thin.extend_from_slice(&self.header);
        }
        self.header.clear();
    }
}

/// Bytes of the length beyond the second byte.
fn length_bytes(header: &[u8]) -> usize {
    match header.get(1).map(|byte| byte & 0x7f) {
        Some(126) => 2,
        Some(127) => 8,
        _ => 0,
    }
}

fn header_len(header: &[u8]) -> usize {
    let mask = header.get(1).map_or(0, |byte| usize::from(byte >> 7) * 4);
    2 + length_bytes(header) + mask
}

fn payload_len(header: &[u8]) -> u64 {
    let length = &header[2..2 + length_bytes(header)];
    match length.is_empty() {
        true => u64::from(header[1] & 0x7f),
        false => length
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Thin<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let rest = &this.thin[this.given..];
            if !rest.is_empty() {
                let given = rest.len().min(out.remaining());
                out.put_slice(&rest[..given]);
                this.given += given;
                return Poll::Ready(Ok(()));
            }
            this.thin.clear();
            this.given = 0;
            let mut space = [0; PIECE];
            let mut piece = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut this.inner).poll_read(context, &mut piece))?;
            if piece.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            let load = this.frames.take(piece.filled(), &mut this.thin);
            this.load.0.fetch_add(load, Ordering::Relaxed);
            if load > 0 && this.thin.is_empty() {
                // Whoever waits for a message is to count meanwhile, and may have to wait for want of rate.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Thin<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(first: u8, payload: &[u8], length: &[u8]) -> Vec<u8> {
        [&[first], length, &[1, 2, 3, 4], payload].concat()
    }

    #[test]
    fn load_is_left_out_and_the_rest_is_as_it_was_however_it_is_cut() {
        let long = vec![9; 70_000];
        let text = frame(0x81, b"hello", &[0x80 | 5]);
        let ping = frame(0x89, b"hi", &[0x80 | 2]);
        let all = [
            frame(0x82, &long[..100], &[0x80 | 100]),
            text.clone(),
            frame(0x02, &long[..300], &[0x80 | 126, 1, 44]),
            ping.clone(),
            frame(0x80, &long, &[0x80 | 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70]),
            text.clone(),
        ]
        .concat();
        let empty = |first: u8| vec![first, 0x80, 1, 2, 3, 4];
        let expected = [
            empty(0x82),
            text.clone(),
            empty(0x02),
            ping,
            empty(0x80),
            text,
        ]
        .concat();
        for pieces in [1, 7, all.len()] {
            let (mut frames, mut thin) = (Frames::default(), Vec::new());
            let taken = all
                .chunks(pieces)
                .map(|piece| frames.take(piece, &mut thin));
            assert_eq!(taken.sum::<u64>(), 70_400);
            assert_eq!(thin, expected);
        }
    }
}
