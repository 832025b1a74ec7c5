//! Asks the referee in a guest.

use super::guest::Guest;
use super::kernel::Kernel;
use crate::error::{GuestError, at};
use crate::inside::referee::{OUTCOME, SCENARIO};
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use unbloat_netns::tc::{Discipline, Framing};

const PROGRAM: &str = "guest-init";
/// The target whose standard library can be linked statically without further tools.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What Linux does in that scenario. Builds kernel and program when they are missing.
pub fn referee(scenario: &Scenario) -> Result<Outcome, GuestError> {
    let framing = Framing(scenario.framing_bytes);
    Discipline::parse(&scenario.queue, scenario.rate_bps, framing)?;
    let guest = Guest::new(Kernel::ensure()?).seed(scenario.seed);
    let input = serde_json::to_vec(scenario).expect("a scenario has plain fields");
    let finished = guest.run(&referee_program()?, (SCENARIO, &input))?;
    let path = finished.output().join(OUTCOME);
    let text = fs::read(&path).map_err(at(path))?;
    serde_json::from_slice(&text).map_err(|source| GuestError::Outcome { source })
}

/// The program that runs in the guest: under cargo built from the source at hand, else the one that lies
/// beside the running executable.
pub fn referee_program() -> Result<PathBuf, GuestError> {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    if let Some(program) = FOUND.get() {
        return Ok(program.clone());
    }
    let program = match std::env::var_os("CARGO") {
        Some(cargo) => build(Path::new(&cargo))?,
        None => beside()?,
    };
    Ok(FOUND.get_or_init(|| program).clone())
}

/// Static, optimised, and in a target folder of its own, whatever the calling build is.
fn build(cargo: &Path) -> Result<PathBuf, GuestError> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace.join("target"), PathBuf::from);
    let target = target.join("guest");
    let output = Command::new(cargo)
        .args([
            "build",
            "--release",
            "--locked",
            "--package",
            "unbloat-uml",
            "--bin",
            PROGRAM,
        ])
        .args(["--target", TARGET])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(&workspace)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .output()
        .map_err(|source| GuestError::Start {
            command: cargo.display().to_string(),
            source,
        })?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(GuestError::Program { log });
    }
    Ok(target.join(TARGET).join("release").join(PROGRAM))
}

fn beside() -> Result<PathBuf, GuestError> {
    let own = std::env::current_exe().map_err(at("/proc/self/exe"))?;
    let program = own.with_file_name(PROGRAM);
    match fs::read(&program) {
        Ok(bytes) if is_static(&bytes) => Ok(program),
        _ => Err(GuestError::NoProgram { beside: own }),
    }
}

/// Whether an executable names no loader (PT_INTERP, which linkers put near the beginning): a guest has none.
fn is_static(executable: &[u8]) -> bool {
    const LOADER: &[u8] = b"/ld-linux";
    let beginning = &executable[..executable.len().min(8192)];
    !beginning.windows(LOADER.len()).any(|bytes| bytes == LOADER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_that_needs_a_loader_is_not_static() {
        // Test executables are linked as the machine links them: with its loader.
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!is_static(&own));
        let guests = fs::read(referee_program().unwrap()).unwrap();
        assert!(is_static(&guests));
    }
}
