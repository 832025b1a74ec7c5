//! Folders of single runs: named after their process, so that what a killed one left can be told from
//! what a living one uses.

use crate::error::{GuestError, at};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const PREFIX: &str = "unbloat-uml-";

/// Makes a folder that disappears with the value, and removes those of processes that are gone.
pub(crate) fn make() -> Result<TempDir, GuestError> {
    let base = std::env::temp_dir();
    sweep(&base);
    tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .tempdir_in(&base)
        .map_err(at(&base))
}

fn sweep(base: &Path) {
    for entry in base.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(maker).is_some_and(is_gone) {
            // Another process may be sweeping it too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn maker(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

fn is_gone(pid: u32) -> bool {
    !Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_dead_are_swept_and_those_of_the_living_kept() {
        let base = tempfile::tempdir().unwrap();
        let of = |pid: u32| base.path().join(format!("{PREFIX}{pid}-x"));
        // Above the largest possible process id.
        let (dead, living, other) = (
            of(5_000_000),
            of(std::process::id()),
            base.path().join("other"),
        );
        for folder in [&dead, &living, &other] {
            fs::create_dir(folder).unwrap();
        }
        sweep(base.path());
        assert!(!dead.exists());
        assert!(living.exists());
        assert!(other.exists());
    }
}
