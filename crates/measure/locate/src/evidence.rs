//! What was seen: one record for each probe.

use crate::Layers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use unbloat_units::Delta;

/// The hop number of a second node in the local network, which is asked beside the path: what it and
/// the path have in common is this host's own link.
pub const PEER: u8 = 0;

/// What was being sent while a probe was on its way.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Idle,
    /// Load towards this host.
    Down,
    /// Load from this host.
    Up,
    Both,
}

impl Phase {
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Down => "down",
            Phase::Up => "up",
            Phase::Both => "both",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One probe and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// 1 is the first router; [`PEER`] the node beside it.
    pub hop: u8,
    pub phase: Phase,
    /// Counts within the phase; all hops are asked once in each round.
    pub round: u32,
    /// Who answered and when, if anybody did.
    pub answer: Option<(IpAddr, Delta)>,
}

/// All that is known of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub probes: Vec<Probe>,
    /// Which hop is the far end, if it was reached.
    pub far_end: Option<u8>,
    /// Delays within this host, if known.
    pub layers: Layers,
}
