//! What is booked of each request.

use crate::Clocks;
use unbloat_units::{Delta, Time};

/// A server's time, by the clocks it was asked to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub wall: Option<Time>,
    pub mono: Option<Time>,
}

/// One request and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    pub seq: u32,
    /// By the client's clocks.
    pub sent: Clocks,
    /// When its first reply came, by the client's clocks.
    pub received: Option<Clocks>,
    /// When it reached the server, by the server's clocks.
    pub server_received: Stamp,
    /// When its first reply left the server, by the server's clocks.
    pub server_sent: Stamp,
    pub fate: Fate,
    /// Its reply came after that of a later request.
    pub late: bool,
    /// Further replies with a count or stamps of their own: the request came to the server again.
    pub duplicates_up: u32,
    /// Further replies that equal the first: the reply came again. Also all of a server that tells neither.
    pub duplicates_down: u32,
    /// Requests that had reached the server by then, duplicates included, if the server tells.
    pub received_count: Option<u32>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fate {
    /// Not answered yet.
    #[default]
    Pending,
    Answered,
    /// It never reached the server, as the windows of later replies say.
    LostUp,
    /// It reached the server, but no reply came back.
    LostDown,
    /// Lost, and nothing says where.
    Lost,
}

impl Echo {
    /// Round trip without the server's own time, by monotonic clocks; with it, if the server does not tell it.
    pub fn rtt(&self) -> Option<Delta> {
        let whole = self.received?.mono - self.sent.mono;
        Some(match self.server_time() {
            Some(server) if server <= whole => whole - server,
            _ => whole,
        })
    }

    /// How long the server had it; by its monotonic clock if it tells that one.
    pub fn server_time(&self) -> Option<Delta> {
        let mono = self.server_received.mono.zip(self.server_sent.mono);
        let wall = self.server_received.wall.zip(self.server_sent.wall);
        let (received, sent) = mono.or(wall)?;
        Some(sent - received).filter(|span| !span.is_negative())
    }
}
