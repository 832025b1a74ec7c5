//! Tests that cannot run here are left out aloud, and counted.
//!
//! The test runner shows nothing of what a passing test prints with the macros, so that a test which left itself out looks as if
//! it had passed. These lines go past it; with `UNBLOAT_SKIPPED` they are added to that file too, where `make test` counts them.

#[cfg(feature = "kernel")]
mod kernel;
mod schema;

#[cfg(feature = "kernel")]
pub use kernel::has_kernel;
pub use schema::violations;

use std::fs::OpenOptions;
use std::io::{self, Write};

/// Where lines are added.
const VARIABLE: &str = "UNBLOAT_SKIPPED";

/// Says that this test is left out, and why.
pub fn skip(why: &str) {
    let thread = std::thread::current();
    let line = line(thread.name().unwrap_or("a test"), why);
    // Nobody may listen.
    let _ = io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(VARIABLE) {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("skipped tests can be counted");
    }
}

/// Whether this is root; if not, the test is left out because `what` needs it.
pub fn is_root(what: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip(&format!("{what} needs root"));
    }
    is_root
}

/// One line, however many the reason has: it is written at once, between those of other tests.
fn line(test: &str, why: &str) -> String {
    let why: Vec<&str> = why.lines().map(str::trim).collect();
    format!("skipped {test}: {}\n", why.join(" "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_reason_of_several_lines_is_one_line() {
        assert_eq!(
            super::line("it", "no tc\n  here\n"),
            "skipped it: no tc here\n"
        );
    }
}
