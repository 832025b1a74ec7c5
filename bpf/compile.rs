// What build scripts of crates with BPF programs do alike: they include this file.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether there is clang. Without it objects are empty, and a warning says what this build cannot do.
fn has_clang(cannot: &str) -> bool {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=../../../bpf");
    let has_clang = Command::new("clang").arg("--version").output().is_ok();
    if !has_clang {
        println!("cargo::warning=no clang: this build cannot {cannot} (tools/install build)");
        // A file that is not there makes cargo ask again the next time.
        let missing = out("no-clang");
        println!("cargo::rerun-if-changed={}", missing.display());
    }
    has_clang
}

/// A file that the build makes.
fn out(name: &str) -> PathBuf {
    Path::new(&std::env::var("OUT_DIR").expect("cargo sets it")).join(name)
}

/// Compiles `bpf/PROGRAM.bpf.c`, or leaves the object empty.
fn compile(has_clang: bool, program: &str, flags: &[&str], object: &Path) {
    if !has_clang {
        std::fs::write(object, []).expect("the folder is ours");
        return;
    }
    let source = format!("bpf/{program}.bpf.c");
    let status = Command::new("clang")
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g"])
        .args(["-fno-strict-aliasing", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .args(["-c", &source, "-o"])
        .arg(object)
        .status();
    assert!(
        status.is_ok_and(|s| s.success()),
        "clang could not compile {source}"
    );
}
