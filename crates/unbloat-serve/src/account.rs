//! The account of a session: a line of JSON every 50 ms.

use crate::peer::{Busy, Peer, QuicAccount, TcpAccount};
use crate::session::{Flow, Watching};
use bytes::Bytes;
use http_body::Frame;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::{Interval, MissedTickBehavior, interval};
use unbloat_traffic::monotonic;

const EVERY: Duration = Duration::from_millis(50);

pub struct Lines {
    watching: Watching,
    ticks: Interval,
    _busy: Busy,
}

impl Lines {
    pub fn new(watching: Watching, peer: &Arc<Peer>) -> Lines {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let _busy = peer.begin(watching.0.ends);
        Lines {
            watching,
            ticks,
            _busy,
        }
    }

    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Frame<Bytes>>> {
        ready!(self.ticks.poll_tick(context));
        if self.watching.0.has_ended() {
            return Poll::Ready(None);
        }
        let flows = self.watching.0.flows(Instant::now());
        let line = Line {
            time_ns: monotonic().as_ns(),
            flows: flows.iter().map(|(n, flow)| Entry::of(*n, flow)).collect(),
        };
        let mut text = serde_json::to_vec(&line).expect("our own values have a JSON form");
        text.push(b'\n');
        Poll::Ready(Some(Frame::data(text.into())))
    }
}

#[derive(Serialize)]
struct Line {
    time_ns: i64,
    flows: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    flow: u16,
    direction: &'static str,
    connection: u64,
    open: bool,
    bytes: u64,
    start_ns: i64,
    last_ns: u64,
    tcp: Option<TcpAccount>,
    quic: Option<QuicAccount>,
}

impl Entry {
    fn of(number: u16, flow: &Flow) -> Entry {
        let end = flow.end();
        let open = end.is_none();
        let (tcp, quic) = match end {
            Some(end) => (end.tcp, end.quic),
            None => (flow.peer.tcp(), flow.peer.quic()),
        };
        Entry {
            flow: number,
            direction: flow.direction.name(),
            connection: flow.peer.number,
            open,
            bytes: flow.bytes.load(Ordering::Relaxed),
            start_ns: flow.start_ns,
            last_ns: flow.last_ns(),
            tcp,
            quic,
        }
    }
}
