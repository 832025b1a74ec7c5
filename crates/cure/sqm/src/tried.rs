//! A trial as it is written for programs.

use crate::Judged;
use schemars::JsonSchema;
use serde::Serialize;

/// One trial of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tried {
    /// `down` or `up`.
    pub direction: &'static str,
    /// Rate of the shaper.
    pub shaped_bps: u64,
    pub added_p95_ms: f64,
    /// Delivered rate.
    pub delivered_bps: u64,
    pub judged: Judged,
}
