//! The seam: what a workload may ask for, and what it is told.

use crate::metrics::Metric;
use fastrand::Rng;
use unbloat_units::{Bytes, Delta, Direction, Time};

/// A connection of a workload, numbered by it from 0. It opens with its first exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conn(pub u32);

/// What a workload asks for. Everything begins at the client.
pub trait Network {
    /// The client sends `request` bytes; once all are there the server sends `response` bytes. Exchanges of one
    /// connection follow each other without waiting (pipelined), their bytes in order.
    fn exchange(&mut self, conn: Conn, request: Bytes, response: Bytes);

    /// Both ends close once what was asked for is through.
    fn close(&mut self, conn: Conn);

    /// The client's application goes away: what is under way is lost. Where an application cannot do that, it closes.
    fn reset(&mut self, conn: Conn) {
        self.close(conn);
    }

    /// One datagram, `number` counting from 0 in each direction. One that arrives is told, one that is lost is not.
    fn datagram(&mut self, direction: Direction, number: u64, size: Bytes);

    /// How many hops a probe can be sent along; 0 where no router answers.
    fn hops(&self) -> u32 {
        0
    }

    /// The client sends a packet that passes so many hops, at least 1 and at most [`Network::hops`]. Who stands behind them answers with
    /// `answer` bytes; if that arrives, it is told by the number.
    fn probe(&mut self, hops: u32, number: u64, size: Bytes, answer: Bytes) {
        let _ = (hops, number, size, answer);
    }

    /// Calls back with [`Happening::Woke`]; several wake-ups may be outstanding, equal `tag`s tell nothing apart.
    fn wake(&mut self, at: Time, tag: u32);

    /// Randomness of this workload alone.
    fn rng(&mut self) -> &mut Rng;
}

/// What happened on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    Woke {
        tag: u32,
    },
    /// The handshake of a connection is through at the client.
    Opened {
        conn: Conn,
    },
    /// Payload read at the client (`Down`) or at the server (`Up`).
    Read {
        conn: Conn,
        direction: Direction,
        bytes: Bytes,
    },
    /// The last byte of the oldest unfinished response was read at the client.
    Done {
        conn: Conn,
    },
    /// A datagram arrived, `delay` after it was sent.
    Arrived {
        direction: Direction,
        number: u64,
        delay: Delta,
    },
    /// The answer to a probe is back at the client.
    Answered {
        number: u64,
    },
}

/// One application and its user.
pub trait Workload {
    /// Says from when on [`Workload::metrics`] will be asked for, so that what comes before need not be kept. To be called before the
    /// start.
    fn count_from(&mut self, from: Time) {
        let _ = from;
    }

    fn start(&mut self, now: Time, network: &mut dyn Network);

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network);

    /// How it went for the user from `from` (the end of the warm-up) to `now`. Names carry their units.
    fn metrics(&self, from: Time, now: Time) -> Vec<Metric>;

    /// Tells every wait of the application that is over: for what it waited (`load`, `setup` ...), when that was over, and how long it
    /// took.
    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        let _ = tell;
    }
}
