//! What a queue tells of what it does.

use crate::packet::Packet;
use unbloat_units::{Time, named};

named! {
    /// Why a packet was dropped or marked. The words are the same in tables, reports and tests.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Reason with ALL {
        /// The queue had reached its limit in packets, bytes or memory.
        Overflow = "overflow",
        /// The average or estimated queue was beyond the upper threshold: RED above its gentle range.
        Forced = "forced",
        /// Drawn by a probability that grows with the queue: RED, REM, PIE, DualPI2.
        Early = "early",
        /// The packet had waited for longer than the target for an interval: CoDel.
        Sojourn = "sojourn",
        /// Drawn by BLUE within COBALT: overload that CoDel does not hold.
        Blue = "blue",
        /// Above a step threshold: DualPI2's low-latency queue, CoDel's `ce_threshold`.
        Step = "step",
        /// An ACK made superfluous by a later one: CAKE's filter.
        AckFilter = "ack_filter",
        /// Lost on the way, each packet by itself.
        Random = "random",
        /// Lost on the way in the bad state of a two-state channel.
        Burst = "burst",
        /// Lost on the way while the path was out.
        Outage = "outage",
        /// Given up by the radio link after its last retransmission.
        Radio = "radio",
        /// Larger than what the link can ever send: more than the depth of a token bucket.
        Oversize = "oversize",
    }
}

/// A decision about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The packet is gone; the driver may free what it kept under its handle.
    Dropped { packet: Packet, reason: Reason },
    /// The packet now carries CE and goes on.
    Marked { packet: Packet, reason: Reason },
}

/// Receives every decision at the moment when it is made.
pub trait Observer {
    fn event(&mut self, now: Time, event: Event);
}

/// Collects events: for tests and vectors.
impl Observer for Vec<(Time, Event)> {
    fn event(&mut self, now: Time, event: Event) {
        self.push((now, event));
    }
}
