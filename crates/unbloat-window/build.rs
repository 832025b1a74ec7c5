//! Compiles the programs in `bpf/` with clang. The program that is built needs no clang.
//!
//! Without clang the objects are empty: loading them says what is missing.

use std::path::Path;
use std::process::Command;

const PROGRAMS: [&str; 2] = ["window", "router"];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=../../bpf");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let has_clang = Command::new("clang").arg("--version").output().is_ok();
    if !has_clang {
        println!(
            "cargo::warning=no clang: this build cannot hold receive windows (tools/install build)"
        );
        // A file that is not there makes cargo ask again the next time.
        println!("cargo::rerun-if-changed={out}/no-clang");
    }
    for program in PROGRAMS {
        let object = Path::new(&out).join(format!("{program}.o"));
        if has_clang {
            compile(program, &object);
        } else {
            std::fs::write(&object, []).expect("the folder is ours");
        }
    }
}

fn compile(program: &str, object: &Path) {
    let source = format!("bpf/{program}.bpf.c");
    let status = Command::new("clang")
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g"])
        .args(["-fno-strict-aliasing", "-Wall", "-Wextra", "-Werror"])
        .args(["-c", &source, "-o"])
        .arg(object)
        .status();
    assert!(
        status.is_ok_and(|s| s.success()),
        "clang could not compile {source}"
    );
}
