//! A stream above another, which counts what passes or lets writes wait.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use unbloat_os::tcp::wants_more;

/// What a layer does besides passing bytes on.
pub trait Hook<S> {
    /// Asked before each write: ready once it may go.
    fn poll_room(&mut self, _stream: &mut S, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Asked before each read: ready once it may happen.
    fn poll_turn(&mut self, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn wrote(&mut self, _bytes: usize) {}

    fn read(&mut self, _bytes: usize) {}

    /// All that was written has gone to the stream below.
    fn flushed(&mut self) {}
}

pub struct Layer<S, H> {
    /// Dropped before the stream.
    pub hook: H,
    pub stream: S,
}

/// Lets others have their turn after some bytes, however many there are: where tokio alone would let a connection read 128 times.
pub struct Turns {
    longest: usize,
    /// Since the last turn.
    read: usize,
}

impl Turns {
    pub fn of(longest: usize) -> Turns {
        Turns { longest, read: 0 }
    }
}

impl<S> Hook<S> for Turns {
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.read < self.longest {
            return Poll::Ready(());
        }
        self.read = 0;
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn read(&mut self, bytes: usize) {
        self.read += bytes;
    }
}

/// Ready once the kernel would wake a writer: a write alone is taken beyond the bound on what is unsent.
pub fn poll_wanted(stream: &TcpStream, context: &mut Context<'_>) -> Poll<io::Result<()>> {
    loop {
        ready!(stream.poll_write_ready(context))?;
        // What is "would block" here makes the next look wait for the kernel.
        let looked = stream.try_io(Interest::WRITABLE, || match wants_more(stream.as_fd())? {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        });
        match looked {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            looked => return Poll::Ready(looked),
        }
    }
}

impl<S: AsyncWrite + Unpin, H: Hook<S>> Layer<S, H> {
    fn poll_write_by(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        ready!(self.hook.poll_room(&mut self.stream, context))?;
        let written = ready!(write(Pin::new(&mut self.stream), context))?;
        self.hook.wrote(written);
        Poll::Ready(Ok(written))
    }
}

impl<S: AsyncRead + Unpin, H: Hook<S> + Unpin> AsyncRead for Layer<S, H> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.hook.poll_turn(context));
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.hook.read(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, H: Hook<S> + Unpin> AsyncWrite for Layer<S, H> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_by(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_by(context, |stream, context| {
            stream.poll_write_vectored(context, pieces)
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.hook.flushed();
        Poll::Ready(Ok(()))
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
    async fn others_have_their_turn_while_much_is_read() {
        const LONGEST: usize = 32 << 10;
        let (stream, mut there) = tokio::io::duplex(8 * LONGEST);
        there.write_all(&vec![0; 8 * LONGEST]).await.unwrap();
        let hook = Turns::of(LONGEST);
        let mut stream = Layer { hook, stream };
        let mut turns = 0;
        let reading = async {
            let mut piece = vec![0; LONGEST / 2];
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
