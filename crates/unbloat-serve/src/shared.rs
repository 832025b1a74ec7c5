//! What all connections have in common.

use crate::admission::Admission;
use crate::bucket::Bucket;
use crate::counters::{Counters, Counts};
use crate::guests::Guests;
use crate::options::{Limits, duration};
use crate::session::Sessions;
use crate::tokens::Tokens;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// How many connections beyond the limits are told why they are refused; more are closed without a word.
const TOLD: usize = 64;

pub struct Shared {
    pub limits: Limits,
    pub counters: Counters,
    pub tokens: Tokens,
    pub sessions: Sessions,
    pub connections: Arc<Guests>,
    /// Those that are only told that they are refused.
    pub lobby: Arc<Admission>,
    /// Those that were sent away and may say so.
    pub leaving: Arc<Admission>,
    /// Tests by ndt7.
    pub ndt7: Arc<Admission>,
    pub down: Bucket,
    pub up: Bucket,
    pub echo_port: Option<u16>,
    pub memory_is_full: AtomicBool,
    numbers: AtomicU64,
}

impl Shared {
    pub fn new(limits: Limits, tokens: &[String], echo_port: Option<u16>) -> Shared {
        let now = Instant::now();
        Shared {
            counters: Counters::default(),
            tokens: Tokens::new(tokens),
            sessions: Sessions::new(&limits),
            connections: Guests::new(limits.connections, limits.connections_per_address),
            lobby: Admission::new(TOLD, TOLD / 4),
            leaving: Admission::new(TOLD, TOLD),
            ndt7: Admission::new(crate::ndt7::MOST, limits.connections_per_address),
            down: Bucket::new(limits.rate, now),
            up: Bucket::new(limits.rate, now),
            echo_port,
            memory_is_full: AtomicBool::new(false),
            numbers: AtomicU64::new(1),
            limits,
        }
    }

    pub fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// When a transfer that begins now must have ended.
    pub fn transfer_end(&self, now: Instant) -> Instant {
        now + duration(self.limits.transfer_time)
    }

    pub fn counts(&self) -> Counts {
        let connections = self.connections.count() + self.lobby.taken();
        self.counters.read(connections, self.sessions.count())
    }

    /// What is done now and then.
    pub fn tend(&self, now: Instant) {
        self.sessions.sweep(now);
        let full = crate::memory::resident().is_some_and(|used| used > self.limits.memory);
        self.memory_is_full.store(full, Ordering::Relaxed);
    }
}
