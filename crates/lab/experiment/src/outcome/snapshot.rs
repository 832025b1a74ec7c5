//! The state of a running experiment at one moment, for whoever watches it: a person at a terminal, or a script.
//!
//! Counters count from the beginning of the run and only grow, so that a watcher who misses snapshots loses no event and
//! can take rates over any span.

use unbloat_units::{Both, Bytes, Delta, Time};

/// What a watcher sees at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Since the experiment began.
    pub at: Time,
    /// How long it is to last; none when it lasts until it is stopped.
    pub duration: Option<Delta>,
    pub paths: Both<PathSnapshot>,
    /// In the order of the experiment's flows; a shell's are those that its command opened.
    pub flows: Vec<FlowSnapshot>,
    /// How late packets were let go; none in virtual time.
    pub lateness: Option<LatenessSnapshot>,
}

/// One direction of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathSnapshot {
    /// In queues and under way, all elements together, as in [`crate::outcome::Sample`].
    pub backlog_bytes: Bytes,
    pub backlog_packets: u64,
    /// What the packet that left last had waited in queues; none before the first.
    pub wait: Option<Delta>,
    /// Delivered so far.
    pub delivered_bytes: Bytes,
    pub drops: u64,
    pub marks: u64,
}

/// One flow: all its connections together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSnapshot {
    pub name: String,
    /// Open now.
    pub connections: u64,
    /// Congestion windows, summed; none for flows without a connection, as for those of datagrams.
    pub cwnd_bytes: Option<Bytes>,
    /// Sent and not acknowledged, summed.
    pub in_flight_bytes: Option<Bytes>,
    /// Smoothed round-trip time of the connection that was measured last.
    pub srtt: Option<Delta>,
    /// Acknowledged so far, or arrived where there are no acknowledgements.
    pub delivered_bytes: Bytes,
    pub retransmissions: u64,
}

/// How far behind its deadlines the emulator let packets go, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatenessSnapshot {
    pub p50: Delta,
    pub p99: Delta,
    pub max: Delta,
    /// Whether a bound was passed, so that the run is not to be trusted.
    pub is_too_late: bool,
}
