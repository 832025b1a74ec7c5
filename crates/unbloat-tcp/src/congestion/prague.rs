//! Prague: reduces by the share of marked segments, so that the queue of an L4S path stays short.
//!
//! # References
//! draft-briscoe-iccrg-prague-congestion-control-04 (sections 2.4.2 to 2.4.4), RFC 9331 (the
//! requirements), RFC 8257 (DCTCP, whose average it takes): gain 1/16, reference round-trip time 25 ms.
//!
//! # Where we differ
//! 1. Loss halves the window, as in Reno; the draft leaves a choice.
//! 2. No fallback to classic behaviour when marking looks classic.
//! 3. A tail loss that a probe repairs does not reduce the window.
//! 4. Segments are paced one by one at 200 % of a window a round in slow start and 100 % after, not in
//!    bursts of 250 us.

use super::{Congestion, Flow, INFINITE_SSTHRESH, Needs, RateSample, State};
use unbloat_units::Delta;

/// Fixed point of alpha and of growth.
const SHIFT: u32 = 20;
const ONE: u64 = 1 << SHIFT;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// The average moves by one part in two to this power a round.
    pub gain_shift: u32,
    /// Paths that are shorter behave as if they had this round-trip time.
    pub reference_rtt: Delta,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            gain_shift: 4,
            reference_rtt: Delta::ms(25),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Prague {
    params: Params,
    /// Share of marked segments; none before the first mark.
    alpha: Option<u64>,
    round_end: u32,
    round_start_us: u64,
    round_delivered: u32,
    round_ce: u32,
    seen_ce: u32,
    /// No second reduction before this is delivered.
    reduced_until: u32,
    growth: u64,
}

impl Prague {
    pub fn new(params: Params) -> Prague {
        Prague {
            params,
            alpha: None,
            round_end: 0,
            round_start_us: 0,
            round_delivered: 0,
            round_ce: 0,
            seen_ce: 0,
            reduced_until: 0,
            growth: 0,
        }
    }

    fn reference_us(&self) -> u64 {
        self.params.reference_rtt.as_us().max(1) as u64
    }

    /// At the end of a round of at least the reference round-trip time.
    fn update_alpha(&mut self, flow: &Flow, sample: &RateSample) {
        let is_long = flow.now_us >= self.round_start_us + self.reference_us();
        if sample.prior_delivered < self.round_end || !is_long {
            return;
        }
        let delivered = u64::from(flow.delivered - self.round_delivered).max(1);
        let marked = u64::from(flow.delivered_ce - self.round_ce).min(delivered);
        if let Some(alpha) = &mut self.alpha {
            let share = marked * ONE / delivered;
            let shift = self.params.gain_shift;
            *alpha = *alpha - (*alpha >> shift) + (share >> shift);
        }
        self.round_end = flow.delivered;
        self.round_start_us = flow.now_us;
        self.round_delivered = flow.delivered;
        self.round_ce = flow.delivered_ce;
    }

    fn reduce_for_marks(&mut self, flow: &mut Flow, sample: &RateSample) {
        // The first mark ever: as much as all marked.
        let alpha = *self.alpha.get_or_insert(ONE);
        if sample.prior_delivered < self.reduced_until {
            return;
        }
        self.reduced_until = flow.delivered;
        let reduction = (u64::from(flow.cwnd) * alpha) >> (SHIFT + 1);
        flow.cwnd = (flow.cwnd - reduction as u32).max(2);
        flow.ssthresh = flow.cwnd;
    }

    fn grow(&mut self, flow: &mut Flow, segments: u32) {
        if !flow.is_limited_by_cwnd() {
            return;
        }
        let mut left = segments;
        if flow.is_in_slow_start() {
            left = flow.slow_start(segments);
        }
        // One segment a round, less by the square of how much shorter than the reference it is.
        let rtt = u64::from(flow.srtt_us8 >> 3).max(1);
        let ratio = (rtt << 10) / rtt.max(self.reference_us());
        self.growth += u64::from(left) * ratio * ratio / u64::from(flow.cwnd.max(1));
        flow.cwnd += (self.growth >> SHIFT) as u32;
        self.growth &= ONE - 1;
        flow.cwnd = flow.cwnd.min(flow.cwnd_clamp);
    }
}

impl Congestion for Prague {
    fn needs(&self) -> Needs {
        Needs {
            full_control: true,
            pacing: true,
            rate_samples: true,
            l4s: true,
        }
    }

    fn init(&mut self, flow: &mut Flow) {
        *self = Prague::new(self.params.clone());
        self.round_start_us = flow.now_us;
        self.round_end = flow.delivered;
        self.round_delivered = flow.delivered;
        flow.ssthresh = INFINITE_SSTHRESH;
    }

    /// Reductions are made by `control` and `set_state`.
    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        flow.ssthresh
    }

    fn control(&mut self, flow: &mut Flow, sample: &RateSample) {
        let marked = flow.delivered_ce - self.seen_ce;
        self.seen_ce = flow.delivered_ce;
        self.update_alpha(flow, sample);
        if marked > 0 {
            self.reduce_for_marks(flow, sample);
        }
        if flow.state != State::Recovery {
            self.grow(flow, sample.acked_sacked.saturating_sub(marked));
        }
        if flow.srtt_us8 > 0 {
            let percent = if flow.cwnd < flow.ssthresh / 2 {
                200
            } else {
                100
            };
            let window = u64::from(flow.cwnd) * u64::from(flow.mss);
            flow.pacing_rate = window * percent * 80_000 / u64::from(flow.srtt_us8);
        }
    }

    fn set_state(&mut self, flow: &mut Flow, state: State) {
        match state {
            State::Recovery => {
                flow.ssthresh = (flow.cwnd / 2).max(2);
                flow.cwnd = flow.ssthresh;
            }
            State::Loss => flow.ssthresh = (flow.prior_cwnd / 2).max(2),
            State::Open | State::Disorder | State::Cwr => {}
        }
    }
}
