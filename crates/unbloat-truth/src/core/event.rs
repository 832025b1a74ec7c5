//! Everything that happens to packets on the path; nothing is silent.

use crate::core::{Direction, Packet, Promotion};
use unbloat_units::{Bytes, Delta, Time};

/// Where on the path a packet was lost or held, as seen from the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Between the server and the monitor.
    Upstream,
    /// The byte limit of the client's queue, either direction; also downstream of the monitor.
    Tail,
    /// Between the monitor and the client, outside the queue.
    Downstream,
}

impl Place {
    pub fn name(self) -> &'static str {
        match self {
            Place::Upstream => "upstream",
            Place::Tail => "tail",
            Place::Downstream => "downstream",
        }
    }
}

/// One happening.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The packet passes the monitor.
    Monitored(&'a Packet),
    Dropped(Place, &'a Packet),
    /// A packet that had been held back by `hold` goes on; `overtaken_by` later packets of its
    /// flow and direction went before it.
    Reordered {
        place: Place,
        packet: &'a Packet,
        hold: Delta,
        overtaken_by: u32,
    },
    /// The packet waits for the client's radio.
    Promoted {
        packet: &'a Packet,
        promotion: Promotion,
    },
    /// The last bit has left the client's link.
    Carried(&'a Packet),
    /// The packet leaves the path for the device at its far end.
    Delivered(&'a Packet),
    /// Every 10 ms while a queue holds bytes, and once when it is empty again.
    Queue {
        client: usize,
        direction: Direction,
        bytes: Bytes,
    },
}

/// Who is told.
pub trait Observer {
    /// Times never go backwards from call to call.
    fn event(&mut self, at: Time, event: Event<'_>);
}

impl<F: FnMut(Time, Event<'_>)> Observer for F {
    fn event(&mut self, at: Time, event: Event<'_>) {
        self(at, event);
    }
}
