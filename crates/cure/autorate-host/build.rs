//! Compiles `bpf/tap.bpf.c` with clang. The program that is built needs no clang.
//!
//! Without clang the object is empty: packets are then looked at in user space, and it is said why.

include!("../../../bpf/compile.rs");

fn main() {
    let has_clang = has_clang("pair packets within the kernel");
    compile(has_clang, "tap", &[], &out("tap.o"));
}
