//! What happened, as the hosts and the radio know it.

use std::net::Ipv4Addr;
use unbloat_units::{Both, Delta, Time};

/// Addresses and ports that tell a flow from all others of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowName {
    pub client: Ipv4Addr,
    pub client_port: u16,
    pub server: Ipv4Addr,
    pub server_port: u16,
}

/// A TCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTruth {
    pub name: FlowName,
    /// How long the radio kept the client's first SYN from passing.
    pub promotion: Delta,
    /// Round trip between monitor and server.
    pub core_rtt: Delta,
    /// Packets with this flow that passed the monitor, and packets with payload that the senders sent again.
    pub packets: Both<u64>,
    pub retransmissions: Both<u64>,
    /// Packets with payload lost before the monitor.
    pub lost_before: Both<u64>,
    /// Payload that the receivers' applications read.
    pub read: Both<u64>,
    /// Timeouts of the server, and those of them that broke off a recovery: undesired slow starts (section 5).
    pub timeouts: Vec<Time>,
    pub undesired: Vec<Time>,
    /// When the receive window kept the server from sending for the first time.
    pub window_full: Option<Time>,
    /// Content type of an HTTP flow, empty if it is not told.
    pub content: Option<&'static str>,
}

/// A user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserTruth {
    pub client: Ipv4Addr,
    /// Tick of the timestamp clock, in seconds by the monitor's clock.
    pub tick_s: Option<f64>,
    /// Payload that reached the client, by slot of time since the start of the trace; slots without any are left out.
    pub arrived: Vec<(u32, u32)>,
    pub flows: Vec<FlowTruth>,
}

/// A slot of `UserTruth::arrived`: the shorter of the windows over which the study measures throughput (Fig. 19).
pub const SLOT: Delta = Delta::ms(100);
