//! What can go wrong with sockets.

use std::io;

/// A system call that failed: what was tried, and what the kernel said.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {source}")]
pub struct TrafficError {
    pub doing: String,
    pub source: io::Error,
}

/// Says what was tried.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, TrafficError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, TrafficError> {
        self.map_err(|source| TrafficError {
            doing: what(),
            source: source.into(),
        })
    }
}
