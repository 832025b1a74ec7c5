//! Compiles `bpf/watch.bpf.c` with clang. The program that is built needs no clang.
//!
//! Without clang the object is empty: watching goes by the kernel's statistics alone, and says why.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=../../bpf");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let object = Path::new(&out).join("watch.o");
    let has_clang = Command::new("clang").arg("--version").output().is_ok();
    if has_clang {
        compile(&object);
        return;
    }
    println!(
        "cargo::warning=no clang: this build cannot measure within the kernel (tools/install build)"
    );
    // A file that is not there makes cargo ask again the next time.
    println!("cargo::rerun-if-changed={out}/no-clang");
    std::fs::write(&object, []).expect("the folder is ours");
}

fn compile(object: &Path) {
    let status = Command::new("clang")
        .args([
            "-target",
            "bpf",
            "-mcpu=v3",
            "-O2",
            "-g",
            "-fno-strict-aliasing",
        ])
        .args(["-Wall", "-Wextra", "-Werror"])
        .args(["-c", "bpf/watch.bpf.c", "-o"])
        .arg(object)
        .status();
    assert!(
        status.is_ok_and(|s| s.success()),
        "clang could not compile bpf/watch.bpf.c"
    );
}
