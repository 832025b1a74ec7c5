//! What requests carry: nothing, or data without end.

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// Largest piece that is given to HTTP at once.
pub const LARGEST_PIECE: usize = 16 * 1024;
const LEAST_PIECE: usize = 1_400;

/// How one upload goes: read by whoever looks, steered by whoever sets the rate.
#[derive(Debug)]
pub struct Pace {
    /// Given to HTTP so far.
    pub bytes: AtomicU64,
    piece: AtomicUsize,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            bytes: AtomicU64::new(0),
            piece: AtomicUsize::new(LARGEST_PIECE),
        }
    }
}

impl Pace {
    /// Bytes at a time from now on: a large piece is in the way of probes on the same connection.
    pub fn set_piece(&self, bytes: usize) {
        let bytes = bytes.clamp(LEAST_PIECE, LARGEST_PIECE);
        self.piece.store(bytes, Ordering::Relaxed);
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
                let piece = data.slice(..pace.piece.load(Ordering::Relaxed).min(data.len()));
                pace.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
                Some(Ok(Frame::data(piece)))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Empty)
    }
}
