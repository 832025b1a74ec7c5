//! The large answer: the same random bytes again and again, none of which is ever copied by us.

use crate::counters::count;
use crate::gate::Pass;
use crate::peer::{Busy, Peer};
use crate::session::Transfer;
use crate::shared::Shared;
use bytes::Bytes;
use http_body::Frame;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep_until};

/// Random, so that no link compresses it; longer than the windows of compressors.
static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut noise = vec![0; 1 << 20];
    getrandom::fill(&mut noise).expect("Linux has random numbers");
    noise
});

/// So many random bytes, up to 1 MiB.
pub fn noise(bytes: usize) -> Bytes {
    Bytes::from_static(&NOISE[..bytes])
}

/// One piece: several frames of HTTP/2, written at once.
const PIECE: usize = 64 << 10;

/// The gate lets one through at a time: a frame of HTTP/2 that fills a record of TLS together with its header of nine bytes. Every client takes one
/// (RFC 9113 §6.5.2).
const GATED_PIECE: usize = (16 << 10) - 9;

/// How often the unsent bound is fitted to the rate.
const ADAPTS: Duration = Duration::from_millis(20);

/// A transfer that is broken off, so that nobody takes it for complete.
#[derive(Debug, thiserror::Error)]
#[error("the transfer reached this server's time limit")]
pub struct BrokenOff;

pub struct Large {
    left: u64,
    at: usize,
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    transfer: Option<Transfer>,
    end: Pin<Box<Sleep>>,
    /// Until the rate of all clients allows more.
    debt: Option<Pin<Box<Sleep>>>,
    pass: Pass,
    adapted: Option<(Instant, usize)>,
    _busy: Busy,
}

impl Large {
    pub fn new(
        bytes: u64,
        shared: &Arc<Shared>,
        peer: &Arc<Peer>,
        transfer: Option<Transfer>,
        until: Instant,
    ) -> Large {
        Large {
            left: bytes,
            at: 0,
            shared: Arc::clone(shared),
            peer: Arc::clone(peer),
            transfer,
            end: Box::pin(sleep_until(until.into())),
            debt: None,
            pass: Pass::default(),
            adapted: None,
            _busy: peer.begin(until),
        }
    }

    pub fn left(&self) -> u64 {
        self.left
    }

    pub fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let unwanted = self.transfer.as_ref().is_some_and(Transfer::is_unwanted);
        if unwanted || self.end.as_mut().poll_is_ready(context) {
            return Poll::Ready(Some(Err(BrokenOff)));
        }
        if let Some(debt) = &mut self.debt {
            ready!(Future::poll(debt.as_mut(), context));
            self.debt = None;
        }
        let most = if self.peer.holds_unsent() {
            ready!(self.peer.gate().poll_pass(&mut self.pass, context));
            self.gated_piece()
        } else {
            PIECE
        };
        Poll::Ready(Some(Ok(Frame::data(self.piece(most)))))
    }

    /// Half of the bound, the other half is the kernel's.
    fn gated_piece(&mut self) -> usize {
        let now = Instant::now();
        match self.adapted {
            Some((at, bytes)) if now < at + ADAPTS => bytes,
            _ => {
                let bound = self.peer.adapt_unsent();
                let half = bound.map_or(GATED_PIECE as u64, |b| b.as_u64() / 2);
                let bytes = usize::try_from(half)
                    .unwrap_or(GATED_PIECE)
                    .min(GATED_PIECE);
                self.adapted = Some((now, bytes));
                bytes
            }
        }
    }

    fn piece(&mut self, most: usize) -> Bytes {
        let most = usize::try_from(self.left).map_or(most, |left| most.min(left));
        let from = if self.at + most > NOISE.len() {
            0
        } else {
            self.at
        };
        self.at = from + most;
        self.left -= most as u64;
        count(&self.shared.counters.down_bytes, most as u64);
        if let Some(transfer) = &self.transfer {
            transfer.count(most as u64);
        }
        let next = self.shared.down.take(most, Instant::now());
        self.debt = next.map(|at| Box::pin(sleep_until(at.into())));
        Bytes::from_static(&NOISE[from..from + most])
    }
}

trait PollIsReady {
    fn poll_is_ready(self, context: &mut Context<'_>) -> bool;
}

impl PollIsReady for Pin<&mut Sleep> {
    fn poll_is_ready(self, context: &mut Context<'_>) -> bool {
        Future::poll(self, context).is_ready()
    }
}
