//! Where a queue is, as far as the cure depends on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the queue discipline of this host's device.
    Qdisc,
    /// In the driver of this host's device.
    Driver,
    /// Between this host and its gateway: Wi-Fi, as a rule.
    LocalNetwork,
    /// At or right behind the gateway.
    AccessLine,
    /// Further away.
    Beyond,
}

/// A place, and how it was found: `between hop 1 and hop 2`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Located {
    pub place: Place,
    pub between: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::Qdisc => "in this host's queue discipline",
            Place::Driver => "in this host's network driver",
            Place::LocalNetwork => "on the local network (Wi-Fi or LAN)",
            Place::AccessLine => "on the access line",
            Place::Beyond => "beyond the access line",
        })
    }
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.place, self.between)
    }
}
