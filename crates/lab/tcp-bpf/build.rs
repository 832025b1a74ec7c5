//! Compiles the congestion controls in `bpf/` with clang: `NAME.o` for the kernel's TCP, `NAME.replay.o`
//! for tests. The program that is built needs no clang.
//!
//! Without clang the objects are empty: all else works, and loading a control says what is missing.

include!("../../../bpf/compile.rs");

const CONTROLS: [&str; 5] = ["vegas", "bic", "htcp", "highspeed", "westwood"];

fn main() {
    let has_clang = has_clang("load congestion controls into the kernel");
    for control in CONTROLS {
        for (kind, flags) in [("o", &[][..]), ("replay.o", &["-DREPLAY"])] {
            let object = out(&format!("{control}.{kind}"));
            compile(has_clang, control, flags, &object);
        }
    }
}
