//! Compiles the BPF programs of a crate with clang, for its build script. The program that is built needs no clang.
//!
//! Sources are in the crate's folder `bpf/`. `include/` has what several of them share: members of the kernel's structures, helpers, types.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The headers that programs of several crates share.
pub const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// Whether there is clang to compile with.
#[derive(Clone, Copy, Debug)]
pub struct Compiler {
    has_clang: bool,
}

impl Compiler {
    /// Looks for clang. Without it objects are empty, and a warning says what this build cannot do.
    pub fn find(cannot: &str) -> Compiler {
        println!("cargo::rerun-if-changed=bpf");
        println!("cargo::rerun-if-changed={INCLUDE}");
        let has_clang = Command::new("clang").arg("--version").output().is_ok();
        if !has_clang {
            println!("cargo::warning=no clang: this build cannot {cannot} (tools/install build)");
            // A file that is not there makes Cargo ask again the next time.
            let missing = out("no-clang");
            println!("cargo::rerun-if-changed={}", missing.display());
        }
        Compiler { has_clang }
    }

    /// Compiles `bpf/PROGRAM.bpf.c`, or leaves the object empty.
    ///
    /// # Panics
    /// Clang does not compile it, or the object cannot be written: the build stops.
    pub fn compile(self, program: &str, flags: &[&str], object: &Path) {
        if !self.has_clang {
            std::fs::write(object, []).expect("the folder is ours");
            return;
        }
        let source = format!("bpf/{program}.bpf.c");
        let status = Command::new("clang")
            .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g"])
            .args(["-fno-strict-aliasing", "-Wall", "-Wextra", "-Werror"])
            .arg(format!("-I{INCLUDE}"))
            .args(flags)
            .args(["-c", &source, "-o"])
            .arg(object)
            .status();
        assert!(
            status.is_ok_and(|s| s.success()),
            "clang could not compile {source}"
        );
    }
}

/// A file that the build makes.
///
/// # Panics
/// Outside a build script.
pub fn out(name: &str) -> PathBuf {
    Path::new(&std::env::var("OUT_DIR").expect("Cargo sets it")).join(name)
}
