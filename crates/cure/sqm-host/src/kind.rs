//! The kinds of routers.

use schemars::JsonSchema;
use serde::Serialize;

/// How a router is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// By uci, for sqm-scripts.
    OpenWrt,
    /// By tc.
    Linux,
}
