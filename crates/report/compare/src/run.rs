//! What is kept of one run.

use crate::conditions::Facts;
use crate::course::Course;
use crate::estimate::Estimate;
use std::collections::{BTreeMap, BTreeSet};
use unbloat_stats::LogHistogram;

/// What a result is of, and its name with its unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) subject: String,
    pub(crate) metric: String,
}

impl Name {
    pub(crate) fn new(subject: impl Into<String>, metric: impl Into<String>) -> Name {
        Name {
            subject: subject.into(),
            metric: metric.into(),
        }
    }
}

/// When a test loaded the path, on the axis of [`Run::whole`].
#[derive(Clone, Debug, PartialEq)]
pub struct StageSpan {
    pub load: String,
    pub begin_s: f64,
    pub end_s: f64,
}

/// A run as far as it can be compared; made by a [`crate::Collector`].
#[derive(Clone, Debug)]
pub struct Run {
    pub(crate) facts: Facts,
    /// What each point of a sweep sets; empty for a run without a sweep.
    pub(crate) points: BTreeMap<u64, BTreeMap<String, String>>,
    /// Values with their seeds, by point and name, in rising order.
    pub(crate) results: BTreeMap<u64, BTreeMap<Name, Vec<(u64, f64)>>>,
    /// Single values, with what is known of their noise.
    pub(crate) values: BTreeMap<Name, Estimate>,
    /// Over things that are independent of each other.
    pub(crate) spreads: BTreeMap<Name, LogHistogram>,
    /// Over time.
    pub(crate) courses: BTreeMap<Name, Course>,
    /// Of a test, over all of its stages, by metric: what is drawn in place of the courses of each stage.
    pub(crate) whole: BTreeMap<&'static str, Course>,
    pub(crate) stages: Vec<StageSpan>,
    /// Tables of the run that are not compared, and those that are.
    pub(crate) tables: BTreeSet<String>,
    /// Sentences about what was not taken in.
    pub(crate) left_out: Vec<String>,
}

impl Run {
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether there is anything to compare.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
            && self.values.is_empty()
            && self.spreads.is_empty()
            && self.courses.is_empty()
    }
}
