//! Repository tasks: `cargo xtask layers` checks which wing depends on which, and that pure crates stay pure.

mod layers;

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("layers") => layers::run(),
        _ => {
            eprintln!("usage: cargo xtask layers");
            ExitCode::from(2)
        }
    }
}
