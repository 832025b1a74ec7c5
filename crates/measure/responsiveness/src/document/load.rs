//! Stages of a test.

use crate::fields::{ms, ms_or_null};
use crate::{Estimate, Means, StackView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unbloat_units::Delta;

/// The path without load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Idle {
    #[serde(rename = "rtt_p50_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub rtt_p50: Option<Delta>,
    #[serde(rename = "rtt_p95_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub rtt_p95: Option<Delta>,
    #[serde(rename = "rtt_p99_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub rtt_p99: Option<Delta>,
    /// Mean difference of successive round-trip times.
    #[serde(rename = "jitter_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub jitter: Option<Delta>,
    /// Round-trip time of the empty path: the idle median, or the minimum of the whole test if the path was not idle.
    #[serde(rename = "base_rtt_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub base_rtt: Option<Delta>,
    pub standing: Standing,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Fraction of the time in which it is known what became of datagrams.
    pub coverage: Option<f64>,
    /// Median round-trip times by kind of probe.
    pub probes: StackView,
}

/// Delay that stood before the load began, above the minimum of the whole test; null without any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Standing {
    #[serde(rename = "down_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub down: Option<Delta>,
    #[serde(rename = "up_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub up: Option<Delta>,
    #[serde(rename = "rtt_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub rtt: Option<Delta>,
}

/// One loaded stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Load {
    /// Number of the stage.
    pub stage: usize,
    /// `down`, `up` or `both`.
    pub load: String,
    /// Setting of the network stack.
    pub stack: String,
    /// Start, since the test began.
    pub begin_s: f64,
    pub lasted_s: f64,
    /// Length of the part that is judged.
    pub judged_s: f64,
    pub down: LoadDirection,
    pub up: LoadDirection,
    /// Added round-trip delay, of datagrams or of the probes that agree.
    pub added_rtt: Option<Added>,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Fraction of the time in which it is known what became of datagrams.
    pub coverage: Option<f64>,
    /// Round trips per minute, by the draft.
    pub rpm: Option<f64>,
    pub rpm_class: Option<String>,
    /// Round trips per minute, as older clients compute it.
    pub rpm_legacy: Option<f64>,
    pub trimmed_means: Option<Means>,
    /// `low`, `medium` or `high`.
    pub confidence: String,
    pub is_saturated: bool,
    /// Median added delay by kind of probe.
    pub added_by_probe: StackView,
    /// Load connections.
    pub flows: usize,
    pub failed_flows: usize,
    /// Fraction of the senders' busy time in which windows limited them.
    pub held_back: Option<f64>,
    /// Fraction of this host's CPU time that was not idle.
    pub cpu_busy: Option<f64>,
    /// Fraction of CPU time that a hypervisor gave to others.
    pub cpu_stolen: Option<f64>,
    /// CPUs that the test itself used.
    pub own_cpus: Option<f64>,
    /// Datagrams that were sent more than 1 ms late.
    pub late_sends: u64,
}

/// One direction of a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoadDirection {
    /// Delivered rate.
    pub delivered_bps: Option<u64>,
    /// From the 10th to the 90th percentile of the rates of seconds, divided by their median.
    pub delivered_spread: Option<f64>,
    /// Whose counters the rate is from.
    pub delivered_by: Option<String>,
    pub is_steady: Option<bool>,
    /// Rate at which receiving applications got data in order.
    pub goodput_bps: Option<u64>,
    pub goodput_by: Option<String>,
    /// One-way added delay.
    pub added: Option<Added>,
    /// Fraction of datagrams lost.
    pub loss: Option<f64>,
    /// Datagrams that arrived out of order.
    pub reordered: u64,
    /// Median of bytes in flight, all load connections together.
    pub in_flight_bytes: Option<u64>,
    pub in_flight_per_flow_bytes: Option<u64>,
    /// Rate at this host's interface, other programs' traffic included.
    pub interface_bps: Option<u64>,
    /// Bandwidth-delay product.
    pub bdp_bytes: Option<u64>,
}

/// Delay under load minus idle delay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    pub p50: Estimate,
    pub p95: Estimate,
    pub p99: Estimate,
    pub mean: Estimate,
    #[serde(rename = "max_ms", with = "ms")]
    #[schemars(with = "f64")]
    pub max: Delta,
    /// Samples under load.
    pub samples: usize,
}

impl From<&crate::Added> for Added {
    fn from(added: &crate::Added) -> Added {
        Added {
            p50: added.p50,
            p95: added.p95,
            p99: added.p99,
            mean: added.mean,
            max: added.max,
            samples: added.samples,
        }
    }
}
