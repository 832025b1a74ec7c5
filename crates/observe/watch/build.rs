//! Compiles `bpf/watch.bpf.c`. Without clang the object is empty: watching goes by the kernel's statistics alone, and says why.

use unbloat_bpf_build::{Compiler, out};

fn main() {
    let compiler = Compiler::find("measure within the kernel");
    compiler.compile("watch", &[], &out("watch.o"));
}
