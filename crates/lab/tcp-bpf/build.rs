//! Compiles the congestion controls in `bpf/`: `NAME.o` for the kernel's TCP, `NAME.replay.o` for tests.
//!
//! Without clang the objects are empty: all else works, and loading a control says what is missing.

use unbloat_bpf_build::{Compiler, out};

const CONTROLS: [&str; 5] = ["vegas", "bic", "htcp", "highspeed", "westwood"];

fn main() {
    let compiler = Compiler::find("load congestion controls into the kernel");
    for control in CONTROLS {
        for (kind, flags) in [("o", &[][..]), ("replay.o", &["-DREPLAY"])] {
            let object = out(&format!("{control}.{kind}"));
            compiler.compile(control, flags, &object);
        }
    }
}
