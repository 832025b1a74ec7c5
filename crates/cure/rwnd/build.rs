//! Compiles the programs in `bpf/`. Without clang the objects are empty: loading them says what is missing.

use unbloat_bpf_build::{Compiler, out};

fn main() {
    let compiler = Compiler::find("hold receive windows");
    for program in ["window", "router"] {
        compiler.compile(program, &[], &out(&format!("{program}.o")));
    }
}
