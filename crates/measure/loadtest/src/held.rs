//! A connection on which no more is written than its socket's bound on unsent data allows.

use crate::socket::unsent_limit;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use unbloat_os::tcp::wants_more;

pub struct Held {
    stream: TcpStream,
    is_held: bool,
    /// Bytes that may be written before the socket is asked again.
    room: usize,
}

impl Held {
    /// Not held, it is a stream as any other.
    pub fn new(stream: TcpStream, is_held: bool) -> Held {
        Held {
            stream,
            is_held,
            room: 0,
        }
    }

    /// Ready once the kernel would wake a writer, and then for the half of the bound that is free at least.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_held || self.room > 0 {
            return Poll::Ready(Ok(()));
        }
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            // What is "would block" here makes the next look wait for the kernel.
            let looked = self.stream.try_io(Interest::WRITABLE, || {
                match wants_more(self.stream.as_fd())? {
                    true => Ok(()),
                    false => Err(io::ErrorKind::WouldBlock.into()),
                }
            });
            match looked {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                looked => {
                    self.room = unsent_limit(self.stream.as_fd()) as usize / 2;
                    return Poll::Ready(looked);
                }
            }
        }
    }

    fn spend(&mut self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = written {
            self.room = self.room.saturating_sub(*bytes);
        }
    }
}

impl AsyncRead for Held {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Held {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_room(context))?;
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.spend(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_room(context))?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.spend(&written);
        written
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
    use tokio::net::TcpListener;
    use unbloat_os::tcp_info::TcpInfo;
    use unbloat_units::Rate;

    #[tokio::test]
    async fn a_held_sender_waits_with_little_unsent_and_goes_on_once_the_peer_reads() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let (stream, accepted) = tokio::join!(TcpStream::connect(to), listener.accept());
        let (stream, mut peer) = (stream.unwrap(), accepted.unwrap().0);
        let handle = crate::socket::handle(&stream).unwrap();
        let segment = TcpInfo::of(handle.as_fd()).unwrap().mss();
        let rate = Some(Rate::kbps(100));
        let bound = crate::socket::limit_unsent(handle.as_fd(), rate, segment).unwrap();
        let mut held = Held::new(stream, true);
        let total = 16 << 20;
        let writing = tokio::spawn(async move {
            let mut left = total;
            while left > 0 {
                left -= held.write(&vec![0; left.min(4_000)]).await.unwrap();
            }
        });
        // The peer's buffer is full once nothing more is acknowledged; looked at by state, not by time.
        let mut before = None;
        let unsent = loop {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            let info = TcpInfo::of(handle.as_fd()).unwrap();
            if before == Some(info.acked()) && info.acked().as_u64() > 0 {
                break info.unsent();
            }
            before = Some(info.acked());
        };
        assert!(!writing.is_finished());
        assert!(unsent.as_u64() <= u64::from(bound) + 4_000, "{unsent}");
        let mut read = 0;
        let mut buffer = vec![0; 1 << 20];
        while read < total {
            read += peer.read(&mut buffer).await.unwrap();
        }
        writing.await.unwrap();
    }
}
