//! What requests carry: nothing, or data without end.

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
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
    Data {
        pace: Arc<Pace>,
        data: Bytes,
        /// Bytes of this body that are still to come; endless if none is given.
        rest: Option<u64>,
        /// Bytes that all may carry together.
        allowance: Arc<Allowance>,
    },
}

/// Bytes that a test may still receive, or send.
#[derive(Debug)]
pub struct Allowance(AtomicU64);

impl Allowance {
    pub fn new(bytes: u64) -> Allowance {
        Allowance(AtomicU64::new(bytes))
    }

    /// Takes so many; false, and then always, if there are fewer.
    pub fn take(&self, bytes: u64) -> bool {
        let take = |left: u64| Some(left.saturating_sub(bytes));
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.is_ok_and(|left| left >= bytes)
    }

    pub fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
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
            Body::Data { rest: Some(0), .. } => None,
            Body::Data {
                pace,
                data,
                rest,
                allowance,
            } => {
                let most = rest.map_or(usize::MAX, |rest| {
                    usize::try_from(rest).unwrap_or(usize::MAX)
                });
                let piece = data.slice(..pace.piece().min(data.len()).min(most));
                let bytes = piece.len() as u64;
                if !allowance.take(bytes) {
                    // The stage ends with it.
                    return Poll::Pending;
                }
                *rest = rest.map(|rest| rest - bytes);
                pace.bytes.fetch_add(bytes, Ordering::Relaxed);
                Some(Ok(Frame::data(piece)))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Empty | Body::Data { rest: Some(0), .. })
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Empty => SizeHint::with_exact(0),
            Body::Data {
                rest: Some(rest), ..
            } => SizeHint::with_exact(*rest),
            Body::Data { rest: None, .. } => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_is_allowed_and_nothing_after_that() {
        let allowance = Allowance::new(10);
        assert_eq!(
            [7, 4, 1].map(|bytes| allowance.take(bytes)),
            [true, false, false]
        );
        assert!(allowance.is_spent());
    }

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
