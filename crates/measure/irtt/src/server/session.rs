//! A client that has shown that it hears us.

use super::Limits;
use crate::wire::Layout;
use std::net::SocketAddr;
use unbloat_units::Time;

#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) from: SocketAddr,
    pub(super) layout: Layout,
    pub(super) dscp: u8,
    /// Number of the key that the client has.
    pub(super) key: Option<usize>,
    pub(super) first_used: Time,
    pub(super) last_used: Time,
    /// Requests that came, duplicates included.
    pub(super) count: u32,
    /// Requests that may come now: those that are new, and copies that the network made of others.
    earned: [f64; 2],
    newest: Option<u32>,
    /// Bit k: the request k before the newest came.
    window: u64,
}

impl Session {
    pub(super) fn new(
        from: SocketAddr,
        layout: Layout,
        dscp: u8,
        key: Option<usize>,
        now: Time,
        burst: u32,
    ) -> Session {
        Session {
            from,
            layout,
            dscp,
            key,
            first_used: now,
            last_used: now,
            count: 0,
            earned: [f64::from(burst); 2],
            newest: None,
            window: 0,
        }
    }

    /// Takes one of what time has earned it, at most a burst. Copies are paid for apart: a client that keeps to its interval is answered whatever
    /// the network does.
    pub(super) fn earns(&mut self, seq: u32, now: Time, limits: &Limits) -> bool {
        let span = (now - self.last_used).as_ns().max(0) as f64;
        let interval = limits.min_interval.as_ns().max(1) as f64;
        let most = f64::from(limits.burst);
        self.earned = self.earned.map(|one| (one + span / interval).min(most));
        self.last_used = self.last_used.max(now);
        let is_copy = self.window_before(seq) & 1 != 0;
        let earned = &mut self.earned[usize::from(is_copy)];
        let enough = *earned >= 1.0;
        if enough {
            *earned -= 1.0;
        }
        enough
    }

    pub(super) fn book(&mut self, seq: u32) {
        self.count = self.count.saturating_add(1);
        let ahead = self.newest.map_or(64, |newest| after(seq, newest));
        if ahead > 0 {
            self.window = shifted_left(self.window, ahead);
            self.newest = Some(seq);
        }
        self.window |= shifted_left(1, -ahead.min(0));
    }

    /// Which of the 64 requests up to `seq` came: bit k is `seq` - k.
    pub(super) fn window_before(&self, seq: u32) -> u64 {
        let behind = self.newest.map_or(0, |newest| after(newest, seq));
        u32::try_from(behind)
            .ok()
            .and_then(|behind| self.window.checked_shr(behind))
            .unwrap_or(0)
    }
}

/// How far `a` lies after `b`, as sequence numbers that wrap.
fn after(a: u32, b: u32) -> i64 {
    i64::from(a.wrapping_sub(b) as i32)
}

fn shifted_left(bits: u64, by: i64) -> u64 {
    u32::try_from(by)
        .ok()
        .and_then(|by| bits.checked_shl(by))
        .unwrap_or(0)
}
