//! A connection on which no more is written than its socket's bound on unsent data allows.

use crate::socket::unsent_limit;
use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};
use tokio::net::TcpStream;
use unbloat_stream_limits::{Hook, Layer, poll_wanted};

pub struct Held {
    is_held: bool,
    /// Bytes that may be written before the socket is asked again.
    room: usize,
}

impl Held {
    /// Not held, it is a stream as any other.
    pub fn new(stream: TcpStream, is_held: bool) -> Layer<TcpStream, Held> {
        let hook = Held { is_held, room: 0 };
        Layer { stream, hook }
    }
}

impl Hook<TcpStream> for Held {
    /// Ready once the kernel would wake a writer, and then for the half of the bound that is free at least.
    fn poll_room(
        &mut self,
        stream: &mut TcpStream,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_held || self.room > 0 {
            return Poll::Ready(Ok(()));
        }
        ready!(poll_wanted(stream, context))?;
        self.room = unsent_limit(stream.as_fd()) as usize / 2;
        Poll::Ready(Ok(()))
    }

    fn wrote(&mut self, bytes: usize) {
        self.room = self.room.saturating_sub(bytes);
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
