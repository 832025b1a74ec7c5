//! Compiles `bpf/watch.bpf.c` with clang. The program that is built needs no clang.
//!
//! Without clang the object is empty: watching goes by the kernel's statistics alone, and says why.

include!("../../../bpf/compile.rs");

fn main() {
    let has_clang = has_clang("measure within the kernel");
    compile(has_clang, "watch", &[], &out("watch.o"));
}
