//! Where packets wait on their way out of this host, and what passes each place.
//!
//! ```text
//! application ─▶ socket ─▶ queue discipline ─▶ driver ─▶ below: firmware, link, path, the peer
//!                     tsQ │                tsF │      │ let go
//!                         └── T_Q ─────────────┴─ T_D ┘
//!                         └── RTT_Q ───────────────────────────▶ acknowledged
//!                                              └── RTT_F ──────▶ acknowledged
//! ```
//!
//! # References
//! "Understanding On-device Bufferbloat for Cellular Upload" (IMC'16), section 4.2, Figure 8 (times) and Figure 10 (throughput
//! by layer).
//!
//! # How each is measured
//!
//! | | from | to |
//! |---|---|---|
//! | T_Q | TCP's stamp of the packet (`tcp_transmit_skb`), or `net_dev_queue` for all else | `net_dev_start_xmit` of the same packet |
//! | T_D | `net_dev_start_xmit` | the driver frees the packet, which it does when it is done with it |
//! | RTT_Q | TCP's stamp of a segment | its acknowledgement is read |
//! | RTT_F | `net_dev_start_xmit` of the same segment | the same |
//! | RTT_B | | RTT_F - T_D |
//!
//! # Where we differ
//!
//! 1. The paper's T_Q begins at `dev_queue_xmit`; what lies between it and TCP's stamp is microseconds of the same processor.
//! 2. One segment of a connection is timed at once, not more than one in a millisecond, and it is given up when anything is sent
//!    again meanwhile (Karn): waiting for a retransmission is no delay of a layer. RTT_Q - RTT_F is so T_Q of the very same
//!    segment.
//! 3. A driver frees a packet when its device says that it was sent, or has copied it: T_D holds then the driver's ring, and of
//!    T_F what the device owns up to. A modem that copies at once and queues inside hides T_F in RTT_B, as on the paper's phones
//!    without their diagnostic interface.
//! 4. Without BPF, T_Q is the discipline's backlog by its rate, RTT_Q is TCP's smoothed round-trip time, and both are marked as
//!    estimates.

use crate::{Flow, Process, Spread};
use std::fmt;
use unbloat_units::{Bytes, Delta, Rate, Time, named};

/// All that is known of some span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Its end, since the watch was opened.
    pub at: Time,
    /// Its length: waits and rates are of this.
    pub span: Delta,
    /// By name.
    pub interfaces: Vec<InterfaceLayers>,
    /// Those that sent something, longest total wait first.
    pub flows: Vec<FlowLayers>,
    /// Flows that there was no room for in this list.
    pub more_flows: u64,
}

named! {
    /// Where a packet can wait.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Layer with ALL {
        /// Written by the application, not yet sent by TCP.
        Socket = "socket",
        /// The device's queue discipline.
        Qdisc = "qdisc",
        /// The driver's ring, as far as the driver owns up to it.
        Driver = "driver",
        /// Firmware, link, path and the peer: all that is behind the driver.
        Below = "below",
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How long something took, and how we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Packet by packet.
    Measured(Spread),
    /// Bytes by rate, or what TCP says.
    Estimated(Delta),
}

impl Wait {
    pub fn mean(&self) -> Delta {
        match self {
            Wait::Measured(spread) => spread.mean,
            Wait::Estimated(delta) => *delta,
        }
    }

    pub fn spread(&self) -> Option<&Spread> {
        match self {
            Wait::Measured(spread) => Some(spread),
            Wait::Estimated(_) => None,
        }
    }
}

/// One flow as it leaves by one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowLayers {
    pub flow: Flow,
    pub interface: Option<String>,
    /// Who has its socket, if it is this host's and we may know.
    pub process: Option<Process>,
    /// None for forwarded packets, and for UDP, which has no buffer above the discipline.
    pub socket: Option<SocketLayer>,
    /// T_Q.
    pub qdisc: Option<Wait>,
    /// T_D.
    pub driver: Option<Wait>,
    pub round_trip: RoundTrip,
    pub rates: Rates,
    /// Packets that left the discipline and of which it is not known when they had come, since it makes new packets of large
    /// ones: they are missing in T_Q.
    pub untimed_packets: u64,
    /// Bytes of memory that the socket's packets take in discipline and driver.
    pub held: Option<Bytes>,
}

impl FlowLayers {
    /// The wait of each layer, as far as it is known: of the socket, T_Q, T_D, and of what is below, how much longer it took
    /// than it ever did.
    pub fn delays(&self) -> [(Layer, Option<Delta>); 4] {
        let socket = self.socket.as_ref().and_then(|socket| socket.wait);
        let mean = |wait: &Option<Wait>| wait.as_ref().map(Wait::mean);
        [
            (Layer::Socket, socket),
            (Layer::Qdisc, mean(&self.qdisc)),
            (Layer::Driver, mean(&self.driver)),
            (Layer::Below, self.round_trip.added),
        ]
    }

    pub fn delay(&self, layer: Layer) -> Option<Delta> {
        let mut all = self.delays().into_iter();
        all.find(|(which, _)| *which == layer)
            .and_then(|(_, delay)| delay)
    }

    /// The layer where it waits longest.
    pub fn worst(&self) -> Option<(Layer, Delta)> {
        let all = self.delays().into_iter();
        all.filter_map(|(layer, delay)| Some((layer, delay?)))
            .max_by_key(|(_, delay)| *delay)
    }

    /// Of all layers that are known.
    pub fn total(&self) -> Delta {
        let all = self.delays().into_iter();
        all.filter_map(|(_, delay)| delay)
            .fold(Delta::ZERO, |sum, delay| sum + delay)
    }
}

/// What TCP has and has not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketLayer {
    /// Written and not yet sent.
    pub unsent: Bytes,
    /// How long these wait at the rate at which TCP sent; of old, the flow's delivery rate.
    pub wait: Option<Delta>,
    pub in_flight: Bytes,
    pub cwnd: Bytes,
    pub retransmissions: u64,
}

/// From this host to the peer and back. TCP only, and only while it sends data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Seen from above the discipline.
    pub rtt_q: Option<Wait>,
    /// Seen from the driver.
    pub rtt_f: Option<Wait>,
    /// RTT_F - T_D: seen from behind the driver; none if T_D is not known.
    pub rtt_b: Option<Delta>,
    /// The shortest way behind the driver so far: what would be left without queues.
    pub floor: Option<Delta>,
    /// How much longer it took behind the driver.
    pub added: Option<Delta>,
}

/// What passed each place. None is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Written by the application.
    pub written: Option<Rate>,
    /// Sent by TCP, repeated bytes too.
    pub sent: Option<Rate>,
    /// Given to the discipline; with headers, as all below. Not known of this host's own TCP, of which `sent` tells as much.
    pub entered: Option<Rate>,
    /// Given by the discipline to the driver.
    pub left: Option<Rate>,
    /// Sent, as the driver says.
    pub done: Option<Rate>,
    /// Acknowledged by the peer.
    pub acknowledged: Option<Rate>,
}

/// One device, its flows together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceLayers {
    pub name: String,
    pub index: u32,
    pub queue: Option<QueueLayer>,
    /// T_Q of all flows.
    pub qdisc: Option<Wait>,
    /// T_D of all flows.
    pub driver: Option<Wait>,
    /// Bytes in the driver and the most that may be (byte queue limits), if the driver takes part.
    pub driver_bytes: Option<(Bytes, Bytes)>,
    /// Packets that the device dropped.
    pub dropped: u64,
    /// Of these only `entered`, `left` and `done` are known.
    pub rates: Rates,
}

/// The outermost queue discipline, which counts for all within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueLayer {
    /// `pfifo_fast`, ...
    pub kind: String,
    pub backlog: Bytes,
    pub packets: u64,
    /// Packets dropped within the span.
    pub dropped: u64,
    /// How long the backlog lasts at the rate of the span.
    pub wait: Option<Delta>,
}
