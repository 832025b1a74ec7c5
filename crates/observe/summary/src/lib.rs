//! The tables of a run go in, batch by batch; out come the headline numbers with the study's own
//! beside them, the curves of its figures, and the verdict: who is bloated, by how much, on which
//! side of the capture point, because of which flows.
//!
//! # References
//! Huang et al., "An In-depth Study of LTE: Effect of Network Protocol and Application Behavior on
//! Performance" (SIGCOMM 2013). Each panel names its section and figure.
//!
//! # Invariants
//! Memory does not depend on the number of flows: everything is a counter, a sketch of bounded
//! size, or a list cut at a fixed length (and then says so). Columns are found by name; a table
//! without a column that a panel needs leaves the panel out, with a sentence in
//! [`Outcome::left_out`].

#![warn(clippy::disallowed_methods)]

mod findings;
mod panel;
mod panels;
mod params;
mod sides;
mod summary;
#[cfg(test)]
mod testing;
mod verdict;
mod view;

pub use findings::{Figure, FigureRow, Metric, Point, SummaryRow, figures_rows, summary_rows};
pub use params::SummaryParams;
pub use summary::{Outcome, Reads, Summary};
pub use verdict::{
    Confidence, DirectionVerdict, Filler, OtherDelay, OtherKind, Place, Reason, Verdict,
    VerdictKind, WaitingFlow,
};
