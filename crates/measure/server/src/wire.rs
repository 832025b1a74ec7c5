//! What a connection's bytes wait for on their way, and who hears that they are gone.

use crate::guests::Place;
use crate::peer::Peer;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use unbloat_stream_limits::{Hook, Layer, Turns, poll_wanted};

/// A socket that is known as long as it is open, and its place among all connections.
pub type Known = Layer<TcpStream, Knowledge>;

pub struct Knowledge {
    peer: Arc<Peer>,
    _place: Place,
}

pub fn known(stream: TcpStream, peer: Arc<Peer>, place: Place) -> Known {
    let hook = Knowledge {
        peer,
        _place: place,
    };
    Layer { hook, stream }
}

impl Hook<TcpStream> for Knowledge {
    /// Where little is to wait unsent.
    fn poll_room(
        &mut self,
        stream: &mut TcpStream,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        match self.peer.holds_unsent() {
            true => poll_wanted(stream, context),
            false => Poll::Ready(Ok(())),
        }
    }
}

impl Drop for Knowledge {
    /// Before the stream's own: its number may be another socket's right after.
    fn drop(&mut self) {
        self.peer.forget_socket();
    }
}

/// Read of a connection before others have their turn. The frames of HTTP/2 that cost most, such as windows opened by a byte, take 20 ns a byte: a
/// connection keeps a thread for 0.6 ms.
const TURN: usize = 32 << 10;

/// Tells the gate of its connection when all that was written is in the kernel, and lets others have their turn. It stands above TLS.
pub struct Flushing {
    turns: Turns,
    peer: Arc<Peer>,
}

pub fn flushing<S>(stream: S, peer: Arc<Peer>) -> Layer<S, Flushing> {
    let turns = Turns::of(TURN);
    Layer {
        hook: Flushing { turns, peer },
        stream,
    }
}

impl<S> Hook<S> for Flushing {
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<()> {
        Hook::<S>::poll_turn(&mut self.turns, context)
    }

    fn read(&mut self, bytes: usize) {
        Hook::<S>::read(&mut self.turns, bytes);
    }

    fn flushed(&mut self) {
        self.peer.gate().flushed();
    }
}
