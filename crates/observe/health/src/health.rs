//! What was counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of a capture beside what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Health {
    /// All packets, those that could not be read included.
    pub packets: u64,
    pub tcp_packets: u64,
    /// Packets that were captured twice: the second of each pair was left out.
    pub copied: Sides<Copied>,
    pub clock: ClockHealth,
    pub order: Order,
    pub offload: Offload,
    pub snap: Snap,
    pub unread_links: Vec<UnreadLink>,
    /// Of these packets, encrypted frames of Wi-Fi.
    pub encrypted: u64,
    pub flows: Flows,
    /// Packets that the capturing kernel or interface said it dropped; null when nobody said.
    pub kernel_drops: Option<u64>,
    /// A sentence for each input that ended before its end.
    pub damage: Vec<String>,
}

/// A value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(bound = "T: JsonSchema + Default + Serialize")]
pub struct Sides<T> {
    /// Towards the client.
    pub down: T,
    pub up: T,
}

impl<T> Sides<T> {
    pub(crate) fn of(&mut self, is_uplink: bool) -> &mut T {
        if is_uplink {
            &mut self.up
        } else {
            &mut self.down
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Copied {
    /// Packets that were read, copies included.
    pub packets: u64,
    /// Of them, second copies.
    pub copies: u64,
}

/// Steps of the capture clock, all taken out of the times of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClockHealth {
    pub steps: u64,
    /// The first of them.
    pub first: Vec<Step>,
}

/// A step of the capture clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// When, since the trace began, steps before taken out.
    pub time_ns: i64,
    /// By how much; negative where the clock was set back.
    pub step_ns: i64,
    /// The peers' TCP timestamps show it; otherwise only that time went backwards and stayed there.
    pub is_by_timestamps: bool,
}

/// Packets that stand behind later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Order {
    pub late_packets: u64,
    /// The most that one of them is earlier than a packet before it.
    pub most_late_ns: i64,
}

/// Segments larger than any that a wire carries: captured before they were cut (GSO, TSO), or after
/// they were merged (GRO, LRO).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Offload {
    /// TCP packets with payload.
    pub data_packets: u64,
    pub large_packets: u64,
    /// IP packet length of the largest.
    pub largest_bytes: u64,
}

/// What the snap length cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Snap {
    /// TCP packets whose options were cut.
    pub options_cut: u64,
    /// Packets cut within their IP, TCP or UDP header: they were not analysed.
    pub headers_cut: u64,
    /// TCP and UDP packets with payload.
    pub payload_packets: u64,
    /// Of them, those of which no payload was stored.
    pub payload_cut: u64,
}

/// Packets of a link type that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadLink {
    /// LINKTYPE_ number.
    pub number: u16,
    pub packets: u64,
}

/// What the flows' rows tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Flows {
    /// TCP flows of at least three packets that are not SYNs alone.
    pub tcp_flows: u64,
    /// Of them, those of which only packets towards the client were captured.
    pub only_down: u64,
    pub only_up: u64,
    /// Payload of the others that was captured.
    pub payload_bytes: u64,
    /// Payload of them that was acknowledged and not captured, or left out and never seen.
    pub missing_bytes: u64,
}
