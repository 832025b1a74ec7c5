//! An experiment with the kernel's own TCP.
//!
//! [`run`] takes what the simulator takes and gives what it gives: hosts in network namespaces ([`unbloat_netns`]), the path between
//! them emulated by the simulator's own queues and links ([`unbloat_emulator`]), workloads on sockets ([`unbloat_workload_host`]),
//! and instruments. It runs on this machine's kernel in real time, and as it is in a guest's in virtual time.

mod beside;
mod capture;
mod controls;
mod ends;
mod error;
mod kernel_queue;
mod live;
mod mapping;
mod memory;
mod path_series;
mod run;
mod shell;
mod shortage;
mod stage;
mod verdict;
mod watch;
mod windows;

pub use beside::{Beside, Ended};
pub use capture::{CaptureFile, Captures};
pub use error::LabError;
pub use mapping::{ControlName, Mapping, kernel_control};
pub use memory::Memory;
pub use path_series::{PathSeries, PathStep};
pub use run::{Options, Ran, Watcher, kernel, run};
pub use shell::{Closed, Shell, ShellOptions};
pub use shortage::{Repairs, Shortage};
pub use unbloat_emulator::{Doubt, Emulated, Report, Timing};
pub use unbloat_workload_host::{ConnectionEnd, Ending};
pub use verdict::{Verdict, lab_results};
pub use watch::TcpSample;
