//! What connections beside the load carry: it takes from the path as the load does, so it belongs to what the path carried.

use crate::measured::Beside;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use unbloat_units::{Both, Bytes, Direction, Time};

/// Bytes of all connections that are counted here.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Both<AtomicU64>>);

impl Tally {
    pub fn look(&self, at: Time) -> Beside {
        let bytes = self.0.as_ref().as_ref();
        let bytes = bytes.map(|bytes| Bytes::new(bytes.load(Ordering::Relaxed)));
        Beside { at, bytes }
    }

    fn add(&self, direction: Direction, bytes: usize) {
        self.0[direction].fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A stream whose bytes are counted, if anywhere.
pub struct Counted<S> {
    pub stream: S,
    pub tally: Option<Tally>,
}

impl<S> Counted<S> {
    fn count(&self, direction: Direction, bytes: usize) {
        if let Some(tally) = &self.tally {
            tally.add(direction, bytes);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.count(Direction::Down, buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.count(Direction::Up, written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, bytes))?;
        self.count(Direction::Up, written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn bytes_of_both_ways_are_counted_where_there_is_a_tally() {
        let (here, mut there) = tokio::io::duplex(64);
        let tally = Tally::default();
        let mut stream = Counted {
            stream: here,
            tally: Some(tally.clone()),
        };
        there.write_all(&[0; 30]).await.unwrap();
        stream.read_exact(&mut [0; 20]).await.unwrap();
        stream.write_all(&[0; 7]).await.unwrap();
        stream.tally = None;
        stream.write_all(&[0; 7]).await.unwrap();
        let seen = tally.look(Time::from_ns(0));
        assert_eq!(seen.bytes, Both::new(Bytes::new(20), Bytes::new(7)));
    }
}
