//! A stream above another, which counts what passes or lets writes wait.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

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
}

pub struct Layer<S, H> {
    pub stream: S,
    pub hook: H,
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
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
