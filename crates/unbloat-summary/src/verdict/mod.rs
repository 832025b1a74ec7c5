//! The verdict: who is bloated, by how much, on which side of the capture point, because of which
//! flows.
//!
//! # The rule
//! 1. A flow is *judged* on a side when it has at least `min_rtt_samples` (20) RTT samples there.
//!    *Downstream* is between capture point and client: RTTs of downlink data. *Upstream* is
//!    between capture point and server: RTTs of uplink data. An RTT goes there and back, so a queue
//!    in either direction of a side counts for that side.
//! 2. Added delay is RTT less the smallest RTT of the same flow and side. A judged flow *suffers*
//!    on a side when the p95 of its added delay there exceeds `bloat_threshold` (100 ms). A user
//!    suffers when the same holds for the added delay of all the user's downlink data (table
//!    `users`), again of at least `min_rtt_samples`.
//! 3. *How much*: median over suffering flows of their p50, p95 and p99; in BDPs, p95 over the
//!    whole path's floor. By Little's law queue = rate x added delay and BDP = rate x floor, so the
//!    ratio needs no rate. The path's floor is the sum of both sides' smallest RTTs, of one side
//!    and the other's handshake, or of one side alone when the other was never seen.
//! 4. *Where*: the side on which the larger share of its judged flows suffers; the other side as well
//!    when its share is more than a quarter of that. Shares, because a capture of downloads has few
//!    flows with enough RTT samples upstream.
//! 5. *Because of*: a flow keeps `in_flight_p50 x added_p50 / rtt_p50` bytes in the queue (Little's
//!    law again). Its weight is those bytes times the seconds in which it overlaps a suffering flow
//!    on the same side. The flows with the largest weights are the culprits, with their share of
//!    the weight of all listed.
//! 6. *Inconclusive* when no flow is judged. *Clean* when none suffers.
//! 7. *Confidence* is about how well p95 is known: the median number of RTT samples of the flows
//!    that decide (suffering ones, or all judged when clean): at least 200 (ten beyond p95) is high,
//!    at least 60 medium, else low. When more than half of the judged flows began before the
//!    capture, their floors may be too high and delays too low: a clean verdict is then never above
//!    low.
//!
//! Lists of flows and users are cut at a fixed length; counts, shares and medians are over all.

mod columns;
mod judge;
mod leaders;
mod sentences;

pub(crate) use judge::Judge;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictKind {
    Bloated,
    Clean,
    Inconclusive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

/// A side of the capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Between capture point and client.
    Downstream,
    /// Between capture point and server.
    Upstream,
}

/// Quantiles of added delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
}

/// How many flows were judged on a side, and how many suffer there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideCount {
    pub judged_flows: u64,
    pub suffering_flows: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserSufferer {
    pub user_id: u64,
    pub client: String,
    pub flows: u64,
    pub added: Delays,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSufferer {
    pub flow_id: u64,
    pub client: String,
    /// Name if one was seen, else address; with the port.
    pub server: String,
    pub side: Side,
    pub rtt_samples: u64,
    pub added: Delays,
    /// p95 of the added delay over the path's floor.
    pub queue_bdp: Option<f64>,
    pub start_ns: i64,
    pub end_ns: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Culprit {
    pub flow_id: u64,
    pub client: String,
    pub server: String,
    pub side: Side,
    /// Of its bytes in flight, those that stand in the queue.
    pub queued_bytes: f64,
    /// Seconds in which it overlaps suffering flows on its side.
    pub overlap_s: f64,
    /// Of the bytes x time of all culprits found.
    pub share: f64,
    /// Suffering flows listed that overlap it, itself not counted.
    pub victims: u64,
    /// Those of the same client: where each client has its own queue, as in a cellular network, the
    /// others wait for something else.
    pub own_victims: u64,
    /// Whether it suffers itself.
    pub suffers: bool,
}

/// Who is bloated, by how much, where, why; see the module's rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub kind: VerdictKind,
    /// Why it is inconclusive.
    pub reason: Option<String>,
    pub confidence: Option<Confidence>,
    pub threshold_ms: f64,
    pub min_rtt_samples: u64,
    pub judged_users: u64,
    pub suffering_users: u64,
    pub downstream: SideCount,
    pub upstream: SideCount,
    /// Medians over suffering flows, or over judged flows when none suffers.
    pub added: Option<Delays>,
    /// Median over suffering flows of p95 in BDPs.
    pub queue_bdp: Option<f64>,
    /// The side or sides where flows suffer.
    pub sides: Vec<Side>,
    /// The worst, worst first.
    pub users: Vec<UserSufferer>,
    pub flows: Vec<FlowSufferer>,
    pub culprits: Vec<Culprit>,
    /// What to keep in mind; whole sentences.
    pub caveats: Vec<String>,
}
