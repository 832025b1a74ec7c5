//! Compiles the congestion controls in `bpf/` with clang: `NAME.o` for the kernel's TCP, `NAME.replay.o`
//! for tests. The program that is built needs no clang.
//!
//! Without clang the objects are empty: all else works, and loading a control says what is missing.

use std::path::Path;
use std::process::Command;

const CONTROLS: [&str; 5] = ["vegas", "bic", "htcp", "highspeed", "westwood"];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=../../bpf");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let has_clang = Command::new("clang").arg("--version").output().is_ok();
    if !has_clang {
        println!(
            "cargo::warning=no clang: this build cannot load congestion controls into the kernel (tools/install build)"
        );
        // A file that is not there makes cargo ask again the next time.
        println!("cargo::rerun-if-changed={out}/no-clang");
    }
    for control in CONTROLS {
        for (kind, flags) in [("o", &[][..]), ("replay.o", &["-DREPLAY"])] {
            let object = Path::new(&out).join(format!("{control}.{kind}"));
            if has_clang {
                compile(control, flags, &object);
            } else {
                std::fs::write(&object, []).expect("the folder is ours");
            }
        }
    }
}

fn compile(control: &str, flags: &[&str], object: &Path) {
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
        .args(flags)
        .arg("-c")
        .arg(format!("bpf/{control}.bpf.c"))
        .arg("-o")
        .arg(object)
        .status();
    assert!(
        status.is_ok_and(|s| s.success()),
        "clang could not compile bpf/{control}.bpf.c"
    );
}
