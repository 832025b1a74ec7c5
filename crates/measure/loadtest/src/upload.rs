//! What requests carry: nothing, or data without end.

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// A record of TLS (RFC 8446 §5.1).
const RECORD: usize = 16 * 1024;
/// Largest piece that is given to HTTP at once: a frame of HTTP/2 that fills a record together with its header (RFC 9113 §4.1).
pub const LARGEST_PIECE: usize = RECORD - 9;
const LEAST_PIECE: usize = 1_400;
/// TLS takes no less at a time.
const LEAST_TLS_BUFFER: usize = 4 * 1024;

/// How one upload goes: read by whoever looks, steered by whoever sets the rate.
#[derive(Debug)]
pub struct Pace {
    /// Given to HTTP so far.
    pub bytes: AtomicU64,
    /// Bound on what waits unsent in the socket: 5 ms of the rate.
    unsent: AtomicUsize,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            bytes: AtomicU64::new(0),
            unsent: AtomicUsize::new(2 * RECORD),
        }
    }
}

impl Pace {
    /// The bound on unsent data in force from now on. What is above the socket goes by it, because it is in the way of probes on the same
    /// connection.
    pub fn set_unsent(&self, bytes: u32) {
        self.unsent.store(bytes as usize, Ordering::Relaxed);
    }

    /// Bytes that are given to HTTP at a time: half of the bound, which is what the kernel wakes a writer for.
    fn piece(&self) -> usize {
        let half = self.unsent.load(Ordering::Relaxed) / 2;
        half.clamp(LEAST_PIECE, LARGEST_PIECE)
    }

    /// Bytes that TLS may hold: a fifth of the bound, 1 ms of the rate.
    pub fn tls_buffer(&self) -> usize {
        let fifth = self.unsent.load(Ordering::Relaxed) / 5;
        fifth.clamp(LEAST_TLS_BUFFER, RECORD)
    }
}

/// A request's body.
#[derive(Default)]
pub enum Body {
    #[default]
    Empty,
    Endless {
        pace: Arc<Pace>,
        data: Bytes,
    },
}

impl Body {
    pub fn endless(pace: Arc<Pace>, data: Bytes) -> Body {
        Body::Endless { pace, data }
    }
}

/// Bytes that no coding on the way makes smaller.
pub fn noise() -> Bytes {
    let mut random = fastrand::Rng::with_seed(1);
    let bytes = std::iter::repeat_with(|| random.u8(..)).take(LARGEST_PIECE);
    Bytes::from(bytes.collect::<Vec<u8>>())
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(match self.get_mut() {
            Body::Empty => None,
            Body::Endless { pace, data } => {
                let piece = data.slice(..pace.piece().min(data.len()));
                pace.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
                Some(Ok(Frame::data(piece)))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_above_the_socket_goes_by_the_rate() {
        let pace = Pace::default();
        // 5 ms at 1, 40 and 400 Mbit/s.
        for (unsent, piece, tls_buffer) in [
            (625, LEAST_PIECE, LEAST_TLS_BUFFER),
            (25_000, 12_500, 5_000),
            (250_000, LARGEST_PIECE, RECORD),
        ] {
            pace.set_unsent(unsent);
            assert_eq!((pace.piece(), pace.tls_buffer()), (piece, tls_buffer));
        }
    }
}
