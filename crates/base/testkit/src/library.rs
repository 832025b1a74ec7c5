//! C sources as a library in this process.

use libloading::Symbol;
use std::process::Command;

/// A library in which undefined behaviour ends the process.
pub struct Library {
    loaded: libloading::Library,
    _folder: tempfile::TempDir,
}

impl Library {
    /// Compiles the source with these flags besides those for errors and undefined behaviour.
    pub fn build(source: &str, flags: &[&str]) -> Library {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("replayed.so");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"])
            .args(["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"])
            .args(flags)
            .args([source, "-o"])
            .arg(&path)
            .status();
        assert!(
            status.is_ok_and(|s| s.success()),
            "cc could not compile {source}"
        );
        // SAFETY: the library is ours and runs nothing when it is opened.
        let loaded = unsafe { libloading::Library::new(&path) };
        Library {
            loaded: loaded.expect("a library"),
            _folder: folder,
        }
    }

    /// # Safety
    /// The source declares the symbol to be a `T`.
    pub unsafe fn get<T>(&self, name: &str) -> Option<Symbol<'_, T>> {
        // SAFETY: the caller's promise.
        unsafe { self.loaded.get(name).ok() }
    }
}
