//! What one direction's load did, and what casts doubt on it: the input of verdict and advice.

use crate::distrust::Distrust;
use crate::fields::{bps, ms, ms_or_null};
use crate::place::Located;
use serde::{Deserialize, Serialize};
use unbloat_units::{Delta, Rate};
use unbloat_workload::Direction;

/// Mean added delay that calls and games do not notice: DSLReports' A ends here.
pub const UNNOTICED: Delta = Delta::ms(30);

/// One direction, loaded alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadedDirection {
    pub direction: Direction,
    /// What the path carried: TCP payload in both directions' terms, so a line's rate is 1,500/1,448 of it.
    #[serde(rename = "delivered_bps", with = "bps")]
    pub delivered: Rate,
    /// The rate was stable; false on radio and other paths whose rate changes.
    pub is_steady: bool,
    /// Mean round trip under this load minus the median idle round trip: what is graded.
    #[serde(rename = "added_ms", with = "ms")]
    pub added: Delta,
    /// 95th percentile of added delay: one way where that is known, else of the round trip.
    #[serde(rename = "added_p95_ms", with = "ms")]
    pub added_p95: Delta,
    #[serde(rename = "idle_rtt_ms", with = "ms")]
    pub idle_rtt: Delta,
    /// Waits in senders' sockets, TLS and HTTP.
    #[serde(rename = "unsent_ms", with = "ms_or_null")]
    pub unsent: Option<Delta>,
    /// A download that waits for its own acknowledgements: its delay is in the uplink.
    #[serde(default)]
    pub is_starved: bool,
    /// Where the queue is, if that was measured.
    pub located: Option<Located>,
}

impl LoadedDirection {
    /// Others notice it.
    pub fn is_felt(&self) -> bool {
        self.added >= UNNOTICED
    }

    /// The rate of the line that carried it: full packets of 1,500 bytes with TCP timestamps hold 1,448.
    pub fn line_rate(&self) -> Rate {
        Rate::from_bps_f64(self.delivered.as_bps_f64() * 1500.0 / 1448.0)
    }
}

/// Why a run is less sure, or worthless.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// Nothing can be concluded from the run.
    pub is_fatal: bool,
    pub reason: String,
}

impl From<&Distrust> for Doubt {
    fn from(reason: &Distrust) -> Doubt {
        Doubt {
            is_fatal: reason.is_fatal(),
            reason: reason.to_string(),
        }
    }
}
