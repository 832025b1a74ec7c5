//! Pacing: segments leave no earlier than the one before allows at the current rate.
//!
//! # References
//! Linux 6.12 `tcp_update_pacing_rate`, `tcp_update_skb_after_send`, `tcp_pacing_check`.

use super::{EPOCH_US, Sender};
use unbloat_units::Time;

/// Percent of a window a round, in slow start and after.
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;
/// The first segments of a connection leave at once.
const UNPACED_SEGMENTS: u64 = 10;

impl Sender {
    #[inline]
    fn now_ns(&self) -> u64 {
        (self.now.as_ns() + EPOCH_US * 1_000) as u64
    }

    /// Whether pacing holds back the next segment.
    #[inline]
    pub(super) fn is_held_by_pacing(&self) -> bool {
        self.flow.is_paced && self.flow.next_send_ns > self.now_ns()
    }

    #[inline]
    pub(super) fn pacing_delay_us(&self) -> u64 {
        if !self.flow.is_paced {
            return 0;
        }
        self.flow
            .next_send_ns
            .saturating_sub(self.now_ns())
            .div_ceil(1_000)
    }

    /// When pacing lets the next segment go, while one waits for it.
    #[inline]
    pub(super) fn pacing_timeout(&self) -> Option<Time> {
        let waits = self.stats.limit() == crate::event::Limit::Pacing;
        (waits && self.flow.is_paced)
            .then(|| Time::from_ns(self.flow.next_send_ns as i64 - EPOCH_US * 1_000))
    }

    /// Books the time that a segment of `len` bytes takes, before it is counted as sent.
    pub(super) fn pace(&mut self, len: u32) {
        if !self.flow.is_paced {
            return;
        }
        let prior = self.flow.next_send_ns;
        self.flow.next_send_ns = prior.max(self.now_ns());
        let rate = self.flow.pacing_rate;
        if rate == 0 || rate == u64::MAX || self.stats.segments_sent < UNPACED_SEGMENTS {
            return;
        }
        let span = (u128::from(len) * 1_000_000_000 / u128::from(rate)) as u64;
        // Being late is made up for, by half a segment at most.
        let late = self.flow.next_send_ns - prior;
        self.flow.next_send_ns += span - late.min(span / 2);
    }

    /// The rate of a control that does not set its own.
    pub(super) fn update_pacing_rate(&mut self) {
        let flow = &mut self.flow;
        if flow.srtt_us8 == 0 {
            return;
        }
        let percent = if flow.cwnd < flow.ssthresh / 2 {
            SLOW_START_PERCENT
        } else {
            AVOIDANCE_PERCENT
        };
        let window = u64::from(flow.cwnd.max(flow.packets_out)) * u64::from(flow.mss);
        flow.pacing_rate = window * percent * 80_000 / u64::from(flow.srtt_us8);
    }
}
