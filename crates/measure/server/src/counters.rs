//! What the server did, for whoever watches it.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub struct Counters {
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    pub failed: AtomicU64,
    pub requests: AtomicU64,
    pub down_bytes: AtomicU64,
    pub up_bytes: AtomicU64,
    pub echoed: AtomicU64,
}

pub fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

/// What the server did since its beginning, and has now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were let in.
    pub accepted: u64,
    /// Connections and requests that a limit refused.
    pub refused: u64,
    /// Connections that ended with an error: handshakes that failed, protocols that were broken.
    pub failed: u64,
    pub requests: u64,
    /// Of bodies, to clients and from them.
    pub down_bytes: u64,
    pub up_bytes: u64,
    /// Packets of the echo.
    pub echoed: u64,
    /// Now.
    pub connections: usize,
    /// Now.
    pub sessions: usize,
}

impl Counters {
    pub fn read(&self, connections: usize, sessions: usize) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            accepted: read(&self.accepted),
            refused: read(&self.refused),
            failed: read(&self.failed),
            requests: read(&self.requests),
            down_bytes: read(&self.down_bytes),
            up_bytes: read(&self.up_bytes),
            echoed: read(&self.echoed),
            connections,
            sessions,
        }
    }
}
