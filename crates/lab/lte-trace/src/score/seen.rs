//! What the analysis says, as far as it is compared with the truth: rows of its tables.

use crate::truth::FlowName;
use unbloat_units::Both;

/// A row of table `flows`, of a TCP flow. Unknown values are none, unknown counts zero.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSeen {
    pub flow_id: u64,
    pub name: FlowName,
    pub is_closed: bool,
    pub packets: Both<u64>,
    pub unique_bytes: Both<u64>,
    pub retransmitted: Both<u64>,
    pub upstream_loss_down: u64,
    pub reordered_down: u64,
    pub ambiguous_down: u64,
    pub slow_starts_down: u64,
    pub rtos_down: u64,
    pub is_large: bool,
    pub tick_raw_ms: Option<f64>,
    pub handshake_up_ms: Option<f64>,
    pub full_window_share: Option<f64>,
}

/// A row of table `promotions`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PromotionSeen {
    pub flow_id: u64,
    pub promotion_ms: f64,
}

/// A row of table `bandwidth`, downlink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandwidthSeen {
    pub flow_id: u64,
    pub time_ns: i64,
    pub bandwidth_bps: f64,
}

/// The analysis of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Packets in the capture, all protocols.
    pub packets: u64,
    /// Packets that could not be parsed.
    pub skipped: u64,
    /// Time of the first packet, in ns since the start of the trace.
    pub first_ns: i64,
    pub flows: Vec<FlowSeen>,
    pub promotions: Vec<PromotionSeen>,
    pub bandwidth: Vec<BandwidthSeen>,
    /// Headline numbers, each with the study's.
    pub summary: unbloat_summary::Outcome,
}
