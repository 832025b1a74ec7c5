//! What all connections have in common.

use crate::admission::Admission;
use crate::bucket::Bucket;
use crate::control::Controls;
use crate::counters::{Counters, Counts};
use crate::guests::Guests;
use crate::judge::Judge;
use crate::memory;
use crate::options::{Limits, duration};
use crate::session::Sessions;
use crate::tokens::Tokens;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use tracing::info;
use unbloat_units::Bytes;

/// ndt7 tests at a time, and of one address: a test is one connection, and a page may do several at once.
pub const NDT7_TESTS: usize = 50;
const NDT7_TESTS_EACH: usize = 4;

/// How many connections beyond the limits are told why they are refused; more are closed without a word.
const TOLD: usize = 64;

/// What every client can work with: HTTP/2 begins with it (RFC 9113, 6.9.2).
const LEAST_WINDOW: u32 = 64 << 10;

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
    /// Connections by QUIC that are being made: a share of the places, so that they leave room for who comes over TCP.
    #[cfg(feature = "http3")]
    pub handshakes: Arc<Admission>,
    /// Tests by ndt7.
    pub ndt7: Arc<Admission>,
    pub judge: Judge,
    pub down: Bucket,
    pub up: Bucket,
    pub echo_port: Option<u16>,
    pub controls: Controls,
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
            #[cfg(feature = "http3")]
            handshakes: Admission::new(
                limits.connections.div_ceil(4),
                limits.connections_per_address,
            ),
            ndt7: Admission::new(NDT7_TESTS, NDT7_TESTS_EACH),
            judge: Judge::new(),
            down: Bucket::new(limits.rate, now),
            up: Bucket::new(limits.rate, now),
            echo_port,
            controls: Controls::new(&[]),
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

    /// What a connection may have on its way to us, of `usual`: what its share of the rate needs for a tenth of a second. What is not read
    /// for want of rate waits in memory.
    pub fn window(&self, usual: u32) -> u32 {
        let Some(rate) = self.limits.rate else {
            return usual;
        };
        let tenth = rate.as_bps() / 80 / self.connections.count().max(1) as u64;
        u32::try_from(tenth)
            .unwrap_or(u32::MAX)
            .clamp(LEAST_WINDOW, usual)
    }

    /// What is done now and then.
    pub fn tend(&self, now: Instant) {
        self.sessions.sweep(now);
        let limit = self.limits.memory;
        let held = memory::held();
        // Nobody is refused for what was freed: it may stay resident long after those who needed it have gone.
        let full = held.is_some_and(|held| held > limit);
        if self.memory_is_full.swap(full, Ordering::Relaxed) != full {
            info!(
                full,
                held_bytes = held.map(Bytes::as_u64),
                limit_bytes = limit.as_u64(),
                "memory"
            );
        }
        // Where little of it is held, what those who are here give back would not help.
        let much = held.is_some_and(|held| held.as_u64() > limit.as_u64() / 2);
        let is_resident = || memory::resident().is_some_and(|used| used > limit);
        if full || much && is_resident() {
            self.connections.shed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Rate;

    #[test]
    fn with_a_rate_little_waits_in_memory() {
        let window = |rate: Option<Rate>| {
            let limits = Limits {
                rate,
                ..Limits::default()
            };
            Shared::new(limits, &[], None).window(16 << 20)
        };
        assert_eq!(window(None), 16 << 20);
        assert_eq!(window(Some(Rate::mbps(100))), 1_250_000);
        assert_eq!(window(Some(Rate::mbps(1))), 64 << 10);
        assert_eq!(window(Some(Rate::mbps(100_000))), 16 << 20);
    }

    #[test]
    fn beyond_the_memory_those_end_who_are_in() {
        let limits = Limits {
            memory: unbloat_units::Bytes::kib(1),
            ..Limits::default()
        };
        let shared = Shared::new(limits, &[], None);
        let from = std::net::SocketAddr::from(([192, 0, 2, 1], 1));
        let place = shared.connections.admit(from.ip()).ok().unwrap();
        let peer = Arc::new(crate::peer::Peer::new(1, from, true, None));
        let _stay = shared.connections.place(&peer, place);
        assert!(!peer.is_sent_away());
        shared.tend(Instant::now());
        assert!(peer.is_sent_away());
    }
}
