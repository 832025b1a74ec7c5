//! A bed of kernel TCP over an emulated path that logs the truth an analysis is scored against.
//!
//! A server and its clients live in two network namespaces. Between them, two TUN devices and a
//! middlebox in user space form the path: [`core::Path`] decides what happens to every packet, and
//! everything it decides is written down ([`record`]). What the senders' kernels do is read by BPF
//! programs ([`kernel`]), what the applications asked for and got by the applications
//! ([`workload`]). All of them share one clock ([`Clock`]).
//!
//! [`run`] runs one [`Scenario`] and leaves a folder of captures and truth files.

mod bed;
mod clock;
pub mod core;
mod error;
pub mod kernel;
mod middlebox;
mod pcap;
pub mod record;
mod scenario;
mod sink;
mod summary;
mod tap;
mod tun;
pub mod workload;

pub use bed::{BedReport, RunParams, run};
pub use clock::Clock;
pub use error::LabError;
pub use middlebox::Lateness;
pub use record::Capture;
pub use scenario::{Named, SCENARIOS, Scenario};
pub use tap::TapReport;
