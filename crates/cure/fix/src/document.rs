//! The document of `unbloat fix --json`.

use schemars::JsonSchema;
use serde::Serialize;
use unbloat_responsiveness::document::Test;
use unbloat_sqm::{Plan, Tried};
use unbloat_units::Direction;

/// The fix of a test, and its effect.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Document {
    /// The shaper with fixed rates; null without one.
    pub shaper: Option<Plan>,
    /// The receive windows of downloads are limited.
    pub holds_window: bool,
    /// The reasons for the fix, or why there is none.
    pub because: Vec<String>,
    /// Missing if nothing was changed.
    #[serde(flatten)]
    pub effect: Option<Effect>,
}

/// What was changed, and what the same test found before and afterwards.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    pub before: Test,
    /// The rates of the shaper follow the line.
    pub follows: bool,
    /// Advice that only a person can carry out.
    pub left: Vec<String>,
    /// Trials of the search for better rates.
    pub trials: Vec<Tried>,
    pub after: Test,
    /// The treatment of a direction at least helped, and stays.
    pub has_helped: bool,
    /// Directions whose treatment stays.
    pub kept: Vec<Direction>,
    /// The reasons for that judgement.
    pub judgement: Vec<String>,
    /// The fix stays, or was rolled back.
    pub state: String,
}
