//! An error in the guest: what was tried, and what the kernel said.

use std::io;

#[derive(Debug, thiserror::Error)]
#[error("{doing}: {source}")]
pub(crate) struct Fault {
    doing: String,
    source: io::Error,
}

/// Says what was tried.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Fault>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Fault> {
        self.map_err(|source| Fault {
            doing: what(),
            source: source.into(),
        })
    }
}

/// A fault that no system call reported.
pub(crate) fn fault(what: impl Into<String>, why: impl Into<String>) -> Fault {
    Fault {
        doing: what.into(),
        source: io::Error::other(why.into()),
    }
}
