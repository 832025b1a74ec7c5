//! Repository tasks.
//!
//! `cargo xtask layers` checks which wing depends on which, and that pure crates stay pure. `cargo xtask new` writes skeletons.

mod layers;
mod new;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask layers
       cargo xtask new qdisc|cc|rule|analysis NAME";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match words.first().map(String::as_str) {
        Some("layers") => layers::run(),
        Some("new") => new::run(&words[1..], &root),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
