//! Recognises token-bucket policers, and sends by their rate.
//!
//! Two intervals in a row with a fifth of the segments lost (of those delivered) and with the same
//! rate are taken as the work of a policer; its rate is used for 48 rounds.

use super::{Bbr, Mode, model::GAIN_ONE, rate_of};
use crate::congestion::{Flow, RateSample};

const MIN_ROUNDS: u32 = 4;
const USE_ROUNDS: u32 = 48;
/// 50/256.
const LOSS_THRESHOLD: u32 = 50;
/// Rates are the same within an eighth.
const SAME: u64 = GAIN_ONE as u64 / 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    is_sampling: bool,
    is_in_use: bool,
    rounds: u32,
    /// Of the last interval, or of the policer; zero if unknown.
    rate: u32,
    delivered: u32,
    lost: u32,
    since_ms: u64,
}

impl Policer {
    pub(super) fn is_in_use(&self) -> bool {
        self.is_in_use
    }

    pub(super) fn rate(&self) -> Option<u32> {
        self.is_in_use.then_some(self.rate)
    }

    fn begin_interval(&mut self, flow: &Flow) {
        self.since_ms = flow.delivered_us / 1_000;
        self.delivered = flow.delivered;
        self.lost = flow.lost;
        self.rounds = 0;
    }

    pub(super) fn reset(&mut self, flow: &Flow) {
        *self = Policer::default();
        self.begin_interval(flow);
    }

    fn end_interval(&mut self, flow: &Flow, rate: u32) -> bool {
        if self.rate > 0 {
            let difference = rate.abs_diff(self.rate);
            let is_same = u64::from(difference) * u64::from(GAIN_ONE)
                <= SAME * u64::from(self.rate)
                || Bbr::is_small(flow, difference);
            if is_same {
                self.rate = ((u64::from(rate) + u64::from(self.rate)) >> 1) as u32;
                self.is_in_use = true;
                self.rounds = 0;
                return true;
            }
        }
        self.rate = rate;
        self.begin_interval(flow);
        false
    }
}

impl Bbr {
    pub(super) fn sample_policer(&mut self, flow: &Flow, sample: &RateSample) {
        if self.policer.is_in_use {
            self.use_policer(flow);
            return;
        }
        let policer = &mut self.policer;
        if !policer.is_sampling {
            if sample.losses == 0 {
                return;
            }
            policer.begin_interval(flow);
            policer.is_sampling = true;
        }
        if sample.is_app_limited {
            policer.reset(flow);
            return;
        }
        policer.rounds += u32::from(self.is_round_start);
        if policer.rounds < MIN_ROUNDS {
            return;
        }
        if policer.rounds > 4 * MIN_ROUNDS {
            policer.reset(flow);
            return;
        }
        if sample.losses > 0 {
            self.judge_interval(flow);
        }
    }

    fn judge_interval(&mut self, flow: &Flow) {
        let policer = &mut self.policer;
        let lost = flow.lost - policer.lost;
        let delivered = flow.delivered - policer.delivered;
        if delivered == 0 || lost << 8 < LOSS_THRESHOLD * delivered {
            return;
        }
        let ms = (flow.delivered_us / 1_000).saturating_sub(policer.since_ms);
        match u32::try_from(ms * 1_000) {
            Ok(0) => {}
            Ok(us) => {
                if policer.end_interval(flow, rate_of(delivered, us)) {
                    self.pacing_gain = GAIN_ONE;
                }
            }
            Err(_) => policer.reset(flow),
        }
    }

    fn use_policer(&mut self, flow: &Flow) {
        if self.mode == Mode::ProbeBw && self.is_round_start {
            self.policer.rounds += 1;
            if self.policer.rounds >= USE_ROUNDS {
                self.policer.reset(flow);
                self.enter_probe_bw(flow);
            }
        }
    }
}
