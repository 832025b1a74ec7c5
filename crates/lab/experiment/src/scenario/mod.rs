//! Scenario files: paths, endpoints, traffic and measurements in TOML.
//!
//! A scenario is text with units ("20 Mbit/s", "40 ms", "1.5 BDP"). Unknown keys are refused with
//! the nearest name, every fault is one message with line, key and what is allowed.

mod amount;
mod experiment;
mod from_toml;
mod preset;
pub mod score;
mod sweep;
pub mod toml;

pub use amount::Amount;
pub use experiment::{Experiment, Flow, Hop, KernelQueue, Oracle, Pace, Passers, Rates, Reader};
pub use from_toml::{BothWays, Files, MAX_SERIES_ROWS, build, path, workload_of};
pub use sweep::{Axis, Point, Sweep};

/// Parts of a scenario that say which experiments are made of it and how they are judged.
const PARTS_AROUND: [&str; 4] = ["preset", "presets", "score", "sweep"];
