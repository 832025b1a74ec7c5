//! Retry packets of QUIC: each is a round trip of the handshake more, and QUIC's library does not tell of them.

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};

/// A socket that counts them on their way in.
#[derive(Debug)]
pub struct Watched {
    socket: Arc<dyn AsyncUdpSocket>,
    retries: AtomicU8,
}

impl Watched {
    pub fn new(socket: UdpSocket) -> io::Result<Watched> {
        Ok(Watched {
            socket: TokioRuntime.wrap_udp_socket(socket)?,
            retries: AtomicU8::new(0),
        })
    }

    pub fn retries(&self) -> u8 {
        self.retries.load(Ordering::Relaxed)
    }
}

/// RFC 9000, 17.2.5: long header, fixed bit, type 3; these bits are not protected. A client heeds one alone.
fn is_retry(datagram: &[u8]) -> bool {
    matches!(datagram, [first, 0, 0, 0, 1, ..] if first & 0xf0 == 0xf0)
}

impl AsyncUdpSocket for Watched {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.socket.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket.try_send(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.socket.poll_recv(context, buffers, meta))?;
        let received = buffers.iter().zip(meta.iter()).take(count);
        let mut firsts = received.map(|(buffer, one)| &buffer[..one.len.min(buffer.len())]);
        if firsts.any(is_retry) {
            self.retries.store(1, Ordering::Relaxed);
        }
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_retry_of_version_1_is_one() {
        assert!(is_retry(&[0xf5, 0, 0, 0, 1, 8]));
        for other in [
            // An Initial, a Handshake, another version, a short header, one cut off.
            &[0xc5, 0, 0, 0, 1, 8][..],
            &[0xe5, 0, 0, 0, 1, 8],
            &[0xf5, 0, 0, 0, 2, 8],
            &[0x75, 0, 0, 0, 1, 8],
            &[0xf5, 0, 0],
        ] {
            assert!(!is_retry(other));
        }
    }
}
