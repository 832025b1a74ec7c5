//! Files of the kernel.

use std::fs;
use std::io;
use std::path::{Component, Path};

/// What the kernel says in a file below /proc or /sys. Other files are not read by this.
pub fn of_kernel(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    let is_below = ["/proc", "/sys"]
        .iter()
        .any(|place| path.starts_with(place));
    let is_direct = path.components().all(|part| part != Component::ParentDir);
    #[expect(clippy::disallowed_methods, reason = "the kernel's own files")]
    match is_below && is_direct {
        true => fs::read_to_string(path),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_kernel_are_taken_for_such() {
        assert!(of_kernel("/proc/self/stat").is_ok());
        for path in ["/etc/hostname", "/proc/../etc/hostname", "proc/self/stat"] {
            let error = of_kernel(path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path}");
        }
    }
}
