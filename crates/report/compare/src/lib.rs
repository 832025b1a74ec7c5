//! Two runs side by side: what differs, by how much, and whether that exceeds the runs' own noise.
//!
//! A [`Collector`] takes the tables of a run, whatever made it, and keeps of them what can be compared ([`Run`]): named
//! results with their repeats, distributions over flows, and courses over time. [`compare`] lays two of them side by side.
//! What it knows of two runs depends on neither the order of their rows nor on anything random: intervals come from
//! repeats (Student's t), from order statistics, and from blocks of time, see [`Noise`].
//!
//! Flows of captures are matched as distributions and never one by one: no number of theirs means the same in two captures.

#![warn(clippy::disallowed_methods)]

mod collect;
mod compare;
mod conditions;
mod course;
mod error;
mod estimate;
mod metric;
mod points;
mod row;
mod run;
mod sources;
mod spread;
mod tables;
mod tolerance;
mod verdict;

pub use collect::{Collector, TABLES};
pub use compare::{Comparison, DistributionRow, FORMAT_VERSION, SeriesRow, compare};
pub use conditions::{Condition, Facts};
pub use error::{CompareError, ToleranceError};
pub use estimate::{Estimate, Noise};
pub use metric::{Goal, Meaning, Topic, meaning, unit, without_unit};
pub use row::{Interval, Outcome, Row, Side};
pub use run::{Run, StageSpan};
pub use tables::{all_rows, all_tables};
pub use tolerance::{Judgement, Tolerance};
pub use verdict::{Counts, Overall, Verdict};
