//! Load for the web page, over a WebSocket.
//!
//! Over HTTP/2 a browser opens one connection to a server; each WebSocket is a connection of its own. The page opens several and keeps them for all stages.
//! It is sent random bytes from its message `down` until its message `stop`; binary messages from it are uploads.

use crate::counters::count;
use crate::large::noise;
use crate::peer::Peer;
use crate::session::Transfer;
use crate::shared::Shared;
use crate::socket::Stream;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::{Error, Message};

/// Of a message from the page.
pub const LONGEST: usize = 1 << 20;

/// One record of TLS, with the four bytes in front of a message: little is written at a time, so that little waits unsent.
const PIECE: usize = (16 << 10) - 4;
const LEAST_PIECE: usize = 1 << 10;

/// How often the unsent bound is fitted to the rate.
const ADAPTS: Duration = Duration::from_millis(20);

pub struct LoadSocket<'a> {
    pub shared: &'a Shared,
    pub peer: &'a Peer,
    pub transfer: Transfer,
}

impl LoadSocket<'_> {
    /// Until the page closes it, or its session ends.
    pub async fn run(self, stream: Stream) {
        let (mut sink, source) = stream.split();
        let control = self
            .peer
            .tcp()
            .map(|tcp| tcp.congestion_control().to_owned());
        let first = json!({ "congestion_control": control }).to_string();
        if sink.send(Message::text(first)).await.is_err() {
            return;
        }
        let (loads, loading) = watch::channel(None);
        tokio::select! {
            _ = self.send(sink, loading) => {}
            () = self.receive(source, loads) => {}
        }
    }

    /// Sends while there is a moment until which to send.
    async fn send(
        &self,
        mut sink: SplitSink<Stream, Message>,
        mut loading: watch::Receiver<Option<Instant>>,
    ) -> Result<(), Error> {
        let mut piece = (Instant::now(), self.piece());
        loop {
            let until = *loading.borrow_and_update();
            if until.is_none_or(|until| Instant::now() >= until) {
                if loading.changed().await.is_err() {
                    return Ok(());
                }
                continue;
            }
            if piece.0.elapsed() >= ADAPTS {
                piece = (Instant::now(), self.piece());
            }
            sink.send(Message::Binary(noise(piece.1))).await?;
            count(&self.shared.counters.down_bytes, piece.1 as u64);
            if let Some(at) = self.shared.down.take(piece.1, Instant::now()) {
                tokio::time::sleep_until(at.into()).await;
            }
        }
    }

    fn piece(&self) -> usize {
        let bound = self.peer.adapt_unsent().map(|bound| bound.as_u64() / 2);
        let bytes = bound.and_then(|bound| usize::try_from(bound).ok());
        bytes.unwrap_or(PIECE).clamp(LEAST_PIECE, PIECE)
    }

    async fn receive(
        &self,
        mut source: SplitStream<Stream>,
        loads: watch::Sender<Option<Instant>>,
    ) {
        while let Some(Ok(message)) = source.next().await {
            match message {
                Message::Text(text) => {
                    let until = self.shared.transfer_end(Instant::now());
                    let is_wanted = text.as_str() == "down";
                    let _ = loads.send(is_wanted.then_some(until));
                }
                Message::Binary(data) => {
                    let bytes = data.len();
                    count(&self.shared.counters.up_bytes, bytes as u64);
                    self.transfer.count(bytes as u64);
                    if let Some(at) = self.shared.up.take(bytes, Instant::now()) {
                        tokio::time::sleep_until(at.into()).await;
                    }
                }
                Message::Close(_) => return,
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
            if self.transfer.is_unwanted() {
                return;
            }
        }
    }
}
