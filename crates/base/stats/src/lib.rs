//! Quantiles, histograms, correlations and windowed extremes: plain state machines over numbers.
//!
//! Nothing here knows what a number means. Every sketch has a bound on its error, its state depends
//! only on what was recorded and not on the order, and two sketches of parts merge into the sketch
//! of the whole; so results do not depend on how a trace was split.

#![warn(clippy::disallowed_methods)]

mod cdf;
mod correlation;
mod histogram2d;
mod log_histogram;
mod quantile;
mod values;
mod windowed_min;

pub use cdf::{Cdf, CdfPoint};
pub use correlation::Correlation;
pub use histogram2d::{Cell, Histogram2d};
pub use log_histogram::LogHistogram;
pub use quantile::{Between, quantile, quantile_of_sorted};
pub use windowed_min::WindowedMin;
