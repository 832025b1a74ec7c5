//! The parts of a fetch: set-up of the connection, request, response.

use crate::metrics::{Metric, Spans};
use crate::workload::{Conn, Happening};
use std::collections::BTreeMap;
use unbloat_units::{Bytes, Delta, Direction, Time};

/// Fetches of one object at a time on each connection. What they take adds up: set-up until the handshake is through at the client,
/// request until it is complete at the server, response until its last byte is read at the client.
#[derive(Debug, Default)]
pub(crate) struct Fetches {
    open: BTreeMap<Conn, Fetch>,
    setups: Spans,
    requests: Spans,
    responses: Spans,
}

#[derive(Debug)]
struct Fetch {
    /// When the part began that goes on.
    since: Time,
    /// Of the request, what the server has not read.
    to_read: Bytes,
}

impl Fetches {
    /// An object is asked for. On a connection that is not open yet, set-up begins.
    pub(crate) fn asked(&mut self, now: Time, conn: Conn, request: Bytes) {
        let fetch = Fetch {
            since: now,
            to_read: request,
        };
        self.open.insert(conn, fetch);
    }

    pub(crate) fn on_happening(&mut self, now: Time, happening: &Happening) {
        match *happening {
            Happening::Opened { conn } => {
                if let Some(fetch) = self.open.get_mut(&conn) {
                    self.setups.push(now, now.since(fetch.since));
                    fetch.since = now;
                }
            }
            Happening::Read {
                conn,
                direction: Direction::Up,
                bytes,
            } => {
                if let Some(fetch) = self.open.get_mut(&conn)
                    && fetch.to_read > Bytes::ZERO
                {
                    fetch.to_read = fetch.to_read - bytes;
                    if fetch.to_read == Bytes::ZERO {
                        self.requests.push(now, now.since(fetch.since));
                        fetch.since = now;
                    }
                }
            }
            Happening::Done { conn } => {
                if let Some(fetch) = self.open.remove(&conn) {
                    self.responses.push(now, now.since(fetch.since));
                }
            }
            _ => {}
        }
    }

    /// `setup_time_*_ms`, `request_time_*_ms`, `response_time_*_ms`.
    pub(crate) fn metrics(&self, from: Time) -> Vec<Metric> {
        let parts = [
            ("setup_time", &self.setups),
            ("request_time", &self.requests),
            ("response_time", &self.responses),
        ];
        let parts = parts.into_iter();
        parts
            .flat_map(|(name, spans)| spans.metrics(name, from))
            .collect()
    }

    pub(crate) fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        self.setups.each("setup", tell);
        self.requests.each("request", tell);
        self.responses.each("response", tell);
    }
}
