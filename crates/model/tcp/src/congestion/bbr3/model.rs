//! What the path delivers and holds: over the long term, and since the last loss.

use super::{Bbr3, Mode, ONE, STARTUP_PACING};
use crate::congestion::{Flow, RateSample};
use crate::windowed::Windowed;
use unbloat_params::defaults;

const RATE_SHIFT: u32 = 24;
/// Paced a percent below the rate.
const MARGIN_PERCENT: u64 = 1;
const NOMINAL_RTT_US: u32 = 1_000;
/// The rate filter looks back at this cycle and the one before.
const RATE_CYCLES: u32 = 1;
/// Rounds that aggregation is looked back for.
const AGGREGATION_ROUNDS: u32 = 10;

/// What was safe to have in flight when it was last probed; none if no loss told.
#[derive(Clone, Debug, Default)]
pub(super) struct LongTerm {
    pub inflight: Option<u32>,
}

impl LongTerm {
    /// Room for others: 15 %, at least a segment.
    pub(super) fn with_headroom(&self) -> Option<u32> {
        self.inflight
            .map(|inflight| inflight - (inflight * 15 / 100).max(1).min(inflight))
    }
}

/// Signals of the last round, and the bounds that losses outside of probes set.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    pub round_end: u32,
    pub is_loss_round_end: bool,
    rate: u32,
    pub inflight: u32,
    has_loss: bool,
    pub loss_events: u32,
    finished_events: u32,
    round_lost: u32,
    round_delivered: u32,
    finished: (u32, u32),
    pub short_rate: Option<u32>,
    pub short_inflight: Option<u32>,
}

impl Recent {
    pub(super) fn reset_short_term(&mut self) {
        self.short_rate = None;
        self.short_inflight = None;
    }

    pub(super) fn reset_congestion(&mut self) {
        self.has_loss = false;
        self.rate = 0;
        self.inflight = 0;
    }

    fn end_round(&mut self, flow: &Flow) {
        self.finished_events = std::mem::take(&mut self.loss_events);
        self.finished = (
            flow.lost - self.round_lost,
            flow.delivered - self.round_delivered,
        );
        self.round_lost = flow.lost;
        self.round_delivered = flow.delivered;
        self.round_end = flow.delivered;
    }

    /// Of the round that has just ended: acknowledgements that told of loss, lost, delivered.
    pub(super) fn round_losses(&self) -> (u32, u32, u32) {
        (self.finished_events, self.finished.0, self.finished.1)
    }
}

defaults! {
    /// How much arrives beyond what the rate explains.
    #[derive(Clone, Debug)]
    pub(super) struct Aggregation {
        epoch_us: u64 = 0;
        acked: u32 = 0;
        extra: Windowed = Windowed::new(0, 0);
    }
}

impl Aggregation {
    pub(super) fn restart(&mut self, now_us: u64) {
        self.epoch_us = now_us;
        self.acked = 0;
    }

    pub(super) fn max(&self) -> u32 {
        self.extra.get()
    }
}

/// Segments per microsecond times 2^24; zero if the sample holds no rate.
pub(super) fn sampled_rate(sample: &RateSample) -> u32 {
    match (sample.delivered, sample.interval_us) {
        (Some(delivered), Some(us)) if us > 0 => rate_of(delivered, us),
        _ => 0,
    }
}

fn rate_of(segments: u32, us: u32) -> u32 {
    ((u64::from(segments) << RATE_SHIFT) / u64::from(us)) as u32
}

/// Seven tenths.
fn beta(value: u32) -> u32 {
    (u64::from(value) * 7 / 10) as u32
}

impl Bbr3 {
    pub(super) fn update_signals(&mut self, flow: &Flow, sample: &RateSample, rate: u32) {
        let delivered = sample.delivered.unwrap_or(0);
        self.recent.is_loss_round_end = false;
        self.is_round_start = false;
        if rate > 0 {
            self.recent.rate = self.recent.rate.max(rate);
            self.recent.inflight = self.recent.inflight.max(delivered);
            self.update_rounds(flow, sample);
            if rate >= self.max_rate.get() || !sample.is_app_limited {
                self.max_rate.running_max(RATE_CYCLES, self.cycles, rate);
            }
        }
        if sample.losses > 0 {
            self.recent.has_loss = true;
            self.recent.loss_events += 1;
        }
        if self.recent.is_loss_round_end {
            self.recent.end_round(flow);
            if self.recent.has_loss && !self.is_probing() {
                self.bound_by_loss(flow);
            }
            self.recent.has_loss = false;
        }
        self.bound_rate();
    }

    fn update_rounds(&mut self, flow: &Flow, sample: &RateSample) {
        if sample.prior_delivered >= self.recent.round_end {
            self.recent.is_loss_round_end = true;
        }
        if sample.prior_delivered >= self.round_end {
            self.start_round(flow);
            self.rounds += 1;
            self.cycle.rounds_since_probe += 1;
            self.is_round_start = true;
        }
    }

    /// `BBRAdaptLowerBoundsFromCongestion`.
    fn bound_by_loss(&mut self, flow: &Flow) {
        let recent = &mut self.recent;
        let rate = recent.short_rate.unwrap_or(self.max_rate.get());
        let inflight = recent.short_inflight.unwrap_or(flow.cwnd);
        recent.short_rate = Some(recent.rate.max(beta(rate)));
        recent.short_inflight = Some(recent.inflight.max(beta(inflight)));
    }

    pub(super) fn bound_rate(&mut self) {
        let max = self.max_rate.get();
        self.rate = self.recent.short_rate.map_or(max, |short| short.min(max));
    }

    pub(super) fn advance_signals(&mut self, sample: &RateSample, rate: u32) {
        if self.recent.is_loss_round_end {
            self.recent.rate = rate;
            self.recent.inflight = sample.delivered.unwrap_or(0);
        }
        self.bound_rate();
    }

    pub(super) fn update_aggregation(&mut self, flow: &Flow, sample: &RateSample) {
        if sample.acked_sacked == 0 || self.rate == 0 {
            return;
        }
        let elapsed = flow.delivered_us.saturating_sub(self.aggregation.epoch_us);
        let mut expected = ((u64::from(self.rate) * elapsed) >> RATE_SHIFT) as u32;
        let aggregation = &mut self.aggregation;
        if aggregation.acked <= expected {
            aggregation.restart(flow.delivered_us);
            expected = 0;
        }
        aggregation.acked += sample.acked_sacked;
        let extra = (aggregation.acked - expected).min(flow.cwnd);
        // Until the pipe is full a round is as good as ten.
        let window = if self.is_full { AGGREGATION_ROUNDS } else { 1 };
        aggregation.extra.running_max(window, self.rounds, extra);
    }

    /// What the path holds at `rate`, times a gain, in segments.
    pub(super) fn bdp(&self, rate: u32, gain: u32) -> u32 {
        if self.min_rtt_us == u32::MAX {
            return 10;
        }
        let product = u64::from(rate) * u64::from(self.min_rtt_us);
        let scaled = product.saturating_mul(u64::from(gain)) >> 8;
        scaled.div_ceil(1 << RATE_SHIFT) as u32
    }

    /// `BBRTargetInflight`.
    pub(super) fn target(&self, flow: &Flow) -> u32 {
        self.bdp(self.rate, ONE).min(flow.cwnd)
    }

    fn bytes_per_second(flow: &Flow, rate: u32, gain: u32) -> u64 {
        let scaled = (u64::from(rate) * u64::from(flow.mss) * u64::from(gain)) >> 8;
        (scaled * (1_000_000 / 100 * (100 - MARGIN_PERCENT))) >> RATE_SHIFT
    }

    pub(super) fn pace_by_rtt(&mut self, flow: &mut Flow) {
        self.has_rtt = flow.srtt_us8 > 0;
        let rtt_us = if self.has_rtt {
            (flow.srtt_us8 >> 3).max(1)
        } else {
            NOMINAL_RTT_US
        };
        let rate = rate_of(flow.cwnd, rtt_us);
        flow.pacing_rate = Bbr3::bytes_per_second(flow, rate, STARTUP_PACING);
    }

    pub(super) fn set_pacing_rate(&mut self, flow: &mut Flow, gain: u32) {
        if !self.has_rtt && flow.srtt_us8 > 0 {
            self.pace_by_rtt(flow);
        }
        let paced = Bbr3::bytes_per_second(flow, self.rate, gain);
        if paced > 0 && (self.is_full || paced > flow.pacing_rate) {
            flow.pacing_rate = paced;
        }
    }

    /// Whether more than 2 % of what was in flight with the sampled segment was lost.
    pub(super) fn is_inflight_too_high(flow: &Flow, sample: &RateSample) -> bool {
        let lost = u64::from(flow.lost.saturating_sub(sample.prior_lost));
        sample.tx_in_flight > 0 && lost * 50 > u64::from(sample.tx_in_flight)
    }

    pub(super) fn is_up(&self) -> bool {
        self.mode == Mode::Up
    }
}
