//! What applications do on a network, as state machines, and how well it went for their users.
//!
//! A workload asks a [`Network`] for exchanges on connections, for datagrams and for wake-ups, and
//! is told what came of them. The simulator, the lab and the live tests are networks; none of them
//! knows what a video is. A kind of workload is one file under `kind/` and one line in
//! `registry.rs`.

#![warn(clippy::disallowed_methods)]

mod answers;
mod emodel;
mod fetch;
pub mod kind;
mod meter;
mod metrics;
mod registry;
mod workload;

pub use emodel::{Impairments, mos, r_factor};
pub use metrics::Metric;
pub use registry::{AnyWorkload, Config, NAMES};
pub use workload::{Conn, Happening, Network, Workload};
