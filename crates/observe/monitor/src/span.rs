//! What was seen within a span of time, usually a minute.

use unbloat_summary::{Place, VerdictKind};
use unbloat_units::{Both, Delta, Direction, Time};

/// A span on the monitor's own clock, which only goes forward.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub end: Time,
    pub length: Delta,
    pub directions: Both<DirectionSpan>,
    /// Networks of peers, those with most delay first; at most [`Span::NETWORKS`].
    pub networks: Vec<NetworkSpan>,
    /// Layers of this host; empty where they are not watched.
    pub layers: Vec<LayerSpan>,
}

impl Span {
    /// Networks that a span keeps.
    pub const NETWORKS: usize = 8;

    pub fn start(&self) -> Time {
        (self.end - self.length).bounded()
    }
}

/// One direction of the traffic, seen from the clients.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionSpan {
    pub verdict: VerdictKind,
    /// Time for which a queue stood.
    pub standing: Delta,
    /// Time in which traffic loaded the direction.
    pub loaded: Delta,
    /// Largest delay above the floor below which no flow's delay went for 1.5 s; `None` without timestamps in both directions.
    pub sustained_ms: Option<f64>,
    pub standing_p50_ms: Option<f64>,
    pub standing_p95_ms: Option<f64>,
    /// Rate of busy windows.
    pub peak_bps: Option<f64>,
    /// Flows whose delay was measured.
    pub flows: u64,
    /// What stood, if anything did.
    pub queue: Option<Queue>,
}

/// A queue that stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// On the monitor's clock.
    pub from: Time,
    pub until: Time,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub place: Option<Place>,
    /// Who filled it, by weight: delay times bytes; at most [`Queue::FILLERS`].
    pub fillers: Vec<Filler>,
    /// Networks whose flows waited.
    pub waiting: Vec<String>,
}

impl Queue {
    pub const FILLERS: usize = 4;
}

/// A flow that filled a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Filler {
    pub client: String,
    pub client_port: u64,
    pub server: String,
    pub server_port: u64,
    /// Process of this host, if it is known.
    pub process: Option<String>,
    /// Of the captured bytes that waited.
    pub share: f64,
}

/// Flows to and from one network.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSpan {
    pub direction: Direction,
    pub network: String,
    pub flows: u64,
    pub measured: Delta,
    pub standing: Delta,
    pub sustained_ms: Option<f64>,
}

/// One layer of this host on the way out.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSpan {
    /// As `unbloat watch` names it.
    pub layer: &'static str,
    pub mean_ms: f64,
    /// Of the worst sample of the span.
    pub p95_ms: Option<f64>,
    pub is_measured: bool,
}
