//! One quantity of two runs, and what can be said of the difference.

use crate::estimate::Noise;
use crate::metric::{Goal, Topic};
use schemars::JsonSchema;
use serde::Serialize;
use unbloat_units::named;

/// A value of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    pub value: f64,
    /// The true value lies in it with 95 % confidence; null where nothing tells.
    pub interval: Option<Interval>,
    /// Values that it rests on: repeats, flows, samples.
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

named! {
    /// What can be said of a difference.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        /// It matters and is for the worse.
        Worse = "worse",
        /// It matters and is for the better.
        Better = "better",
        /// It matters, and more of it is neither good nor bad.
        Changed = "changed",
        /// The runs' own noise allows for a difference that matters and for none.
        CannotTell = "cannot_tell",
        /// There is none that matters.
        Same = "same",
    }
}

impl Outcome {
    /// Whether it says that something differs.
    pub fn differs(self) -> bool {
        matches!(self, Outcome::Worse | Outcome::Better | Outcome::Changed)
    }
}

/// One quantity of both runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    pub topic: Topic,
    /// What the point of a sweep sets; empty without a sweep.
    pub point: String,
    pub subject: String,
    pub metric: String,
    /// mean, p50, p95, p99, share or value.
    pub statistic: &'static str,
    pub unit: String,
    pub goal: Goal,
    /// Whether the verdict speaks of it.
    pub is_key: bool,
    pub a: Side,
    pub b: Side,
    /// B less A.
    pub difference: f64,
    pub interval: Option<Interval>,
    /// The difference over A's value; null where that is 0.
    pub relative: Option<f64>,
    /// A difference up to this does not matter.
    pub margin: f64,
    pub noise: Noise,
    pub outcome: Outcome,
}
