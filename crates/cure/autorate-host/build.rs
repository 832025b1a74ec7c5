//! Compiles `bpf/tap.bpf.c`. Without clang the object is empty: packets are then looked at in user space, and it is said why.

use unbloat_bpf_build::{Compiler, out};

fn main() {
    let compiler = Compiler::find("pair packets within the kernel");
    compiler.compile("tap", &[], &out("tap.o"));
}
