//! The model of the path: its rate, what it holds, and how much it delivers at once.

use super::{Bbr, HIGH_GAIN, Mode, RATE_ROUNDS, rate_of};
use crate::congestion::{Flow, RateSample};

pub(super) const RATE_SHIFT: u32 = 24;
pub(super) const GAIN_ONE: u32 = 1 << 8;

/// Paced a little below the rate, so that queues drain.
const MARGIN_PERCENT: u64 = 1;
/// Below 1.2 Mbit/s segments go one by one; bytes per second.
const SINGLE_SEGMENT_RATE: u64 = 1_200_000 / 8;
/// Largest group of segments, bytes.
const GROUP_BYTES: u64 = 65_536 - 1 - 320;
/// Without any round-trip time.
const NOMINAL_RTT_US: u32 = 1_000;
const AGGREGATION_ROUNDS: u8 = 5;
const AGGREGATION_MAX_US: u64 = 100_000;
/// An epoch of aggregation ends after so many segments.
const AGGREGATION_RESET: u32 = 1 << 20;

/// How much more arrives at once than the rate explains, over five to ten rounds.
#[derive(Clone, Debug, Default)]
pub(in crate::congestion) struct Aggregation {
    epoch_us: u64,
    acked: u32,
    extra: [u16; 2],
    rounds: u8,
    current: usize,
}

impl Aggregation {
    pub(super) fn restart(&mut self, now_us: u64) {
        self.epoch_us = now_us;
        self.acked = 0;
    }

    fn end_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= AGGREGATION_ROUNDS {
            self.rounds = 0;
            self.current ^= 1;
            self.extra[self.current] = 0;
        }
    }

    fn max(&self) -> u32 {
        u32::from(self.extra[0].max(self.extra[1]))
    }
}

impl Bbr {
    /// The rate to send by: the policer's if there is one.
    pub(super) fn rate(&self) -> u32 {
        self.policer.rate().unwrap_or(self.rate.get())
    }

    pub(super) fn update_rate(&mut self, flow: &mut Flow, sample: &RateSample) {
        self.is_round_start = false;
        let (Some(delivered), Some(interval_us)) = (sample.delivered, sample.interval_us) else {
            return;
        };
        if interval_us == 0 {
            return;
        }
        if sample.prior_delivered >= self.round_end {
            self.round_end = flow.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.is_round_start = true;
            self.conserves = false;
        }
        self.sample_policer(flow, sample);
        let rate = rate_of(delivered, interval_us);
        if !sample.is_app_limited || rate >= self.rate.get() {
            self.rate.running_max(RATE_ROUNDS, self.rounds, rate);
        }
    }

    pub(super) fn update_aggregation(&mut self, flow: &Flow, sample: &RateSample) {
        let is_valid = sample.delivered.is_some() && sample.interval_us.is_some_and(|us| us > 0);
        if sample.acked_sacked == 0 || !is_valid {
            return;
        }
        if self.is_round_start {
            self.aggregation.end_round();
        }
        let elapsed = flow.delivered_us.saturating_sub(self.aggregation.epoch_us);
        let mut expected = ((u64::from(self.rate()) * elapsed) >> RATE_SHIFT) as u32;
        let aggregation = &mut self.aggregation;
        let total = aggregation.acked + sample.acked_sacked;
        if aggregation.acked <= expected || total >= AGGREGATION_RESET {
            aggregation.restart(flow.delivered_us);
            expected = 0;
        }
        aggregation.acked = (aggregation.acked + sample.acked_sacked).min(AGGREGATION_RESET - 1);
        let extra = (aggregation.acked - expected).min(flow.cwnd);
        let current = &mut aggregation.extra[aggregation.current];
        *current = (*current).max(extra as u16);
    }

    /// Room in the window for what arrives at once.
    pub(super) fn aggregation_room(&self) -> u32 {
        if !self.is_full {
            return 0;
        }
        let limit = ((u64::from(self.rate()) * AGGREGATION_MAX_US) >> RATE_SHIFT) as u32;
        self.aggregation.max().min(limit)
    }

    /// What the path holds, times a gain, in segments.
    pub(super) fn bdp(&self, rate: u32, gain: u32) -> u32 {
        if self.min_rtt_us == u32::MAX {
            return 10;
        }
        let product = u64::from(rate) * u64::from(self.min_rtt_us);
        let scaled = (product.wrapping_mul(u64::from(gain))) >> 8;
        ((scaled + (1 << RATE_SHIFT) - 1) >> RATE_SHIFT) as u32
    }

    fn group(&self, flow: &Flow) -> u32 {
        let bytes = (flow.pacing_rate >> 10).min(GROUP_BYTES);
        let least = if flow.pacing_rate < SINGLE_SEGMENT_RATE {
            1
        } else {
            2
        };
        ((bytes / u64::from(flow.mss)) as u32).max(least).min(127)
    }

    /// With room for groups of segments at both ends, and even because of delayed ACKs.
    pub(super) fn with_quanta(&self, flow: &Flow, cwnd: u32) -> u32 {
        let cwnd = (cwnd + 3 * self.group(flow) + 1) & !1;
        let probes = self.mode == Mode::ProbeBw && self.phase == 0;
        cwnd + if probes { 2 } else { 0 }
    }

    pub(super) fn target(&self, flow: &Flow, rate: u32, gain: u32) -> u32 {
        self.with_quanta(flow, self.bdp(rate, gain))
    }

    /// What will be in the network when the next segment leaves.
    pub(super) fn in_network(&self, flow: &Flow, in_flight: u32) -> u32 {
        let wait_us = flow.pacing_wait_us();
        let delivered = ((u64::from(self.rate()) * wait_us) >> RATE_SHIFT) as u32;
        let next = if self.pacing_gain > GAIN_ONE {
            self.group(flow)
        } else {
            0
        };
        (in_flight + next).saturating_sub(delivered)
    }

    fn bytes_per_second(flow: &Flow, rate: u32, gain: u32) -> u64 {
        let scaled = (u64::from(rate) * u64::from(flow.mss) * u64::from(gain)) >> 8;
        (scaled * (1_000_000 / 100 * (100 - MARGIN_PERCENT))) >> RATE_SHIFT
    }

    /// Ten segments a round, or a millisecond if no round was seen yet, times the gain of startup.
    pub(super) fn pace_by_rtt(&mut self, flow: &mut Flow) {
        let rtt_us = match flow.srtt_us8 {
            0 => NOMINAL_RTT_US,
            srtt => {
                self.has_rtt = true;
                (srtt >> 3).max(1)
            }
        };
        let rate = rate_of(flow.cwnd, rtt_us);
        flow.pacing_rate = Bbr::bytes_per_second(flow, rate, HIGH_GAIN);
    }

    pub(super) fn set_pacing_rate(&mut self, flow: &mut Flow, rate: u32, gain: u32) {
        if !self.has_rtt && flow.srtt_us8 > 0 {
            self.pace_by_rtt(flow);
        }
        let paced = Bbr::bytes_per_second(flow, rate, gain);
        if self.is_full || paced > flow.pacing_rate {
            flow.pacing_rate = paced;
        }
    }

    /// A difference of rates that is no more than 4 kbit/s.
    pub(super) fn is_small(flow: &Flow, difference: u32) -> bool {
        Bbr::bytes_per_second(flow, difference, GAIN_ONE) <= 4_000 / 8
    }
}
