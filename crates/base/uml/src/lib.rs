//! Linux's own queues, TCP and congestion controls in virtual time, for tests and tools to ask.
//!
//! A kernel built from Debian's source runs as an ordinary process (User Mode Linux) whose clock
//! stands still while it computes and jumps when it waits: what happens in it depends neither on the
//! machine's speed nor on its load, and an idle hour costs nothing. [`Kernel::ensure`] builds it once;
//! [`Guest::run`] runs a static program in it as its only process, [`Guest::run_over_host`] any program over
//! the host's own files, with all that it may call.
//!
//! [`referee`] is what it is for: one [`Scenario`] (a bottleneck of some rate, delay and queue, and what
//! is sent through it) in, one [`Outcome`] (goodput, every packet's delay and fate, windows) out.
//!
//! # Where the guest's kernel differs from one on hardware
//!
//! 1. Computing takes no time, so nothing is ever late or starved. Reading the clock takes 256 ns, and
//!    the clock counts in steps of 256 ns.
//! 2. It ticks 1000 times a second (Debian's: 250; as User Mode Linux comes: 100), so that TCP's and
//!    PIE's timers, which count ticks, are within a millisecond of what they are set to.
//! 3. One CPU, no hardware offloads, no modules. `dualpi2` is newer (6.17) and missing.
//! 4. Random numbers come from the scenario's seed: a repeated run gives the same bytes.

mod error;
mod host;
pub mod inside;
mod matrix;
mod outcome;
mod scenario;
mod summary;

pub use error::GuestError;
pub use host::guest::{Finished, Guest};
pub use host::kernel::Kernel;
pub use host::referee::{referee, referee_program};
pub use inside::{Folders, is_over_host, over_host};
pub use matrix::matrix;
pub use outcome::{
    Distribution, FlowOutcome, FlowSample, KernelCounters, Outcome, PacketFate, Ping, QueueOutcome,
    QueueSample,
};
pub use scenario::{Arrival, Flow, Scenario};
pub use summary::{FlowSummary, QueueSummary, Summary};
