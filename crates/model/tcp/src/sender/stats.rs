//! Counts and times of a sender.

use crate::congestion::State;
use crate::event::Limit;
use unbloat_units::{Delta, Time};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Segments with data, first transmissions and others.
    pub segments_sent: u64,
    pub bytes_sent: u64,
    pub bytes_acked: u64,
    pub acks_received: u64,
    pub retransmissions: u64,
    pub retransmitted_bytes: u64,
    pub timeouts: u64,
    /// Timeouts that F-RTO found to be needless.
    pub spurious_timeouts: u64,
    pub loss_probes: u64,
    pub window_probes: u64,
    /// Times that loss recovery was entered without a timeout.
    pub recoveries: u64,
    /// Reductions for ECN or a repaired tail.
    pub reductions: u64,
    pub undone: u64,
    /// Segments that D-SACKs reported as duplicates.
    pub duplicates_reported: u64,
    limit: Limit,
    since: Time,
    limited: [Delta; 4],
}

impl Stats {
    pub(super) fn new(now: Time) -> Stats {
        Stats {
            segments_sent: 0,
            bytes_sent: 0,
            bytes_acked: 0,
            acks_received: 0,
            retransmissions: 0,
            retransmitted_bytes: 0,
            timeouts: 0,
            spurious_timeouts: 0,
            loss_probes: 0,
            window_probes: 0,
            recoveries: 0,
            reductions: 0,
            undone: 0,
            duplicates_reported: 0,
            limit: Limit::Application,
            since: now,
            limited: [Delta::ZERO; 4],
        }
    }

    pub(super) fn entered(&mut self, state: State) {
        match state {
            State::Recovery => self.recoveries += 1,
            State::Cwr => self.reductions += 1,
            State::Open | State::Disorder | State::Loss => {}
        }
    }

    #[inline]
    pub(super) fn limited_by(&mut self, now: Time, limit: Limit) {
        if limit != self.limit {
            self.limited[self.limit as usize] += now - self.since;
            self.limit = limit;
            self.since = now;
        }
    }

    #[inline]
    pub(super) fn limit(&self) -> Limit {
        self.limit
    }
}
