//! Compiles the programs in `bpf/` with clang. The program that is built needs no clang.
//!
//! Without clang the objects are empty: loading them says what is missing.

include!("../../../bpf/compile.rs");

fn main() {
    let has_clang = has_clang("hold receive windows");
    for program in ["window", "router"] {
        compile(has_clang, program, &[], &out(&format!("{program}.o")));
    }
}
