//! A connection's bytes on their way through: who counts them, and who hears that they are gone.

use crate::guests::Place;
use crate::peer::Peer;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use unbloat_os::tcp::wants_more;

/// A socket that is known as long as it is open, and its place among all connections.
pub struct Known {
    stream: TcpStream,
    peer: Arc<Peer>,
    _place: Place,
}

impl Known {
    pub fn new(stream: TcpStream, peer: Arc<Peer>, place: Place) -> Known {
        Known {
            stream,
            peer,
            _place: place,
        }
    }

    /// Where little is to wait unsent, ready once the kernel would wake a writer: a write alone is taken beyond that.
    fn poll_room(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.peer.holds_unsent() {
            ready!(self.stream.poll_write_ready(context))?;
            let looked = self.stream.try_io(Interest::WRITABLE, || {
                match wants_more(self.stream.as_fd())? {
                    true => Ok(()),
                    false => Err(io::ErrorKind::WouldBlock.into()),
                }
            });
            match looked {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                looked => return Poll::Ready(looked),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Known {
    /// Before the stream's own: its number may be another socket's right after.
    fn drop(&mut self) {
        self.peer.forget_socket();
    }
}

/// Read of a connection before others have their turn. The frames of HTTP/2 that cost most, such as windows opened by a byte, take 20 ns a byte: a
/// connection keeps a thread for 0.6 ms, where tokio alone would let it read 128 times.
const TURN: usize = 32 << 10;

/// Tells the gate of its connection when all that was written is in the kernel, and lets others have their turn. It stands above TLS.
pub struct Flushing<S> {
    inner: S,
    peer: Arc<Peer>,
    /// In this turn.
    read: usize,
}

impl<S> Flushing<S> {
    pub fn new(inner: S, peer: Arc<Peer>) -> Flushing<S> {
        Flushing {
            inner,
            peer,
            read: 0,
        }
    }
}

impl AsyncRead for Known {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Known {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_room(context))?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_room(context))?;
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
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

impl<S: AsyncRead + Unpin> AsyncRead for Flushing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read >= TURN {
            self.read = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.read += buffer.filled().len() - before;
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Flushing<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.peer.gate().flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn others_have_their_turn_while_much_is_read() {
        let (stream, mut there) = tokio::io::duplex(8 * TURN);
        there.write_all(&vec![0; 8 * TURN]).await.unwrap();
        let peer = Peer::new(1, ([192, 0, 2, 1], 1).into(), true, None);
        let mut stream = Flushing::new(stream, Arc::new(peer));
        let mut turns = 0;
        let reading = async {
            let mut piece = vec![0; TURN / 2];
            for _ in 0..16 {
                stream.read_exact(&mut piece).await.unwrap();
            }
        };
        let others = async {
            loop {
                turns += 1;
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = reading => {}
            () = others => {}
        }
        assert_eq!(turns, 7);
    }
}
