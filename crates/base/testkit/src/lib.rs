//! For tests: a runner that tells which of them this machine cannot run, and documents checked against their JSON Schema.
//!
//! A test file whose tests need root, a kernel for virtual time or some program ends with [`main!`]. There, tests whose need is not
//! met are `ignored`, as `cargo test` counts them, and each reason is told once on standard error. With `UNBLOAT_RUN_ALL=1` they fail
//! instead: continuous integration must run everything.

#[cfg(feature = "kernel")]
mod kernel;
#[cfg(feature = "library")]
mod library;
pub mod needs;
mod runner;
mod schema;

#[cfg(feature = "library")]
pub use library::Library;
pub use runner::{Outcome, Test, has_test_attribute, run, run_at_once, unmet};
pub use schema::violations;

use std::time::{Duration, Instant};

/// Waits until it is so, for a minute at most: longer than any of it takes on a busy machine.
///
/// # Panics
/// It is not so then; `wrong` says what is the matter.
#[track_caller]
pub fn until(wrong: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        let is_late = begun.elapsed() > Duration::from_secs(60);
        assert!(!is_late, "after a minute: {wrong}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
