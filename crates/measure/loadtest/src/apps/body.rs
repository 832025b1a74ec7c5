//! What an upload sends.

use bytes::Bytes as Piece;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use unbloat_units::Bytes;

/// Written at a time.
const PIECE: usize = 16 * 1024;

/// So many zeros; nothing on the way compresses them, for they are encrypted or said to be no text.
#[derive(Debug, Default)]
pub(crate) struct Upload {
    left: u64,
}

impl Upload {
    pub(crate) fn of(size: Bytes) -> Upload {
        Upload {
            left: size.as_u64(),
        }
    }
}

impl Body for Upload {
    type Data = Piece;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        static ZEROS: [u8; PIECE] = [0; PIECE];
        let length = self.left.min(PIECE as u64);
        self.left -= length;
        let piece = (length > 0).then(|| Piece::from_static(&ZEROS[..length as usize]));
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
