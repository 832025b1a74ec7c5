//! Prague: reduces by the share of marked segments, so that the queue of an L4S path stays short.
//!
//! # References
//! draft-briscoe-iccrg-prague-congestion-control-04 (sections 2.4.2 to 2.4.4), RFC 9331 (the
//! requirements), RFC 8257 (DCTCP, whose average it takes): gain 1/16, reference round-trip time 25 ms. Where the draft
//! leaves a choice, the module of the L4S team for Linux (version 0.7): the window has fractions, because most reductions are of
//! a segment or two and rounding them down would leave a third more than a fair share; and one reduction in a reference
//! round-trip time, as growth is counted, so that shorter paths have the share of one of that length.
//!
//! # Where we differ
//! 1. Loss halves the window, as in Reno; the draft leaves a choice.
//! 2. No fallback to classic behaviour when marking looks classic.
//! 3. A tail loss that a probe repairs does not reduce the window.
//! 4. Segments are paced one by one at 200 % of a window a round in slow start and 100 % after, not in
//!    bursts of 250 us.

use super::{Congestion, Flow, INFINITE_SSTHRESH, Needs, RateSample, State};
use unbloat_params::params;
use unbloat_params::range::SPAN;
use unbloat_units::Delta;

/// Fixed point of alpha and of growth.
const SHIFT: u32 = 20;
const ONE: u64 = 1 << SHIFT;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        /// The average moves by one part in two to this power a round.
        pub gain_shift: u32 = 4 => within(0..=10);
        /// Paths that are shorter behave as if they had this round-trip time.
        pub reference_rtt: Delta = Delta::ms(25) => within(SPAN);
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
    reduced_at_us: u64,
    /// The window in units of 1/2^20 segments; the flow's is rounded up.
    window: u64,
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
            reduced_at_us: 0,
            window: 0,
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
        let is_early = flow.now_us < self.reduced_at_us + self.reference_us();
        if sample.prior_delivered < self.reduced_until || is_early {
            return;
        }
        self.reduced_until = flow.delivered;
        self.reduced_at_us = flow.now_us;
        self.window -= (self.window * alpha + ONE) >> (SHIFT + 1);
        self.show(flow);
        flow.ssthresh = flow.cwnd;
    }

    /// Takes over what others made of the window: loss, a timeout, a pause.
    fn follow(&mut self, flow: &Flow) {
        if self.window.div_ceil(ONE) != u64::from(flow.cwnd) {
            self.window = u64::from(flow.cwnd) << SHIFT;
        }
    }

    fn show(&mut self, flow: &mut Flow) {
        self.window = self.window.max(2 * ONE);
        flow.cwnd = (self.window.div_ceil(ONE) as u32).min(flow.cwnd_clamp);
    }

    fn grow(&mut self, flow: &mut Flow, segments: u32) {
        if !flow.is_limited_by_cwnd() {
            return;
        }
        let mut left = segments;
        if flow.is_in_slow_start() {
            left = flow.slow_start(segments);
            self.follow(flow);
        }
        // One segment a round, less by the square of how much shorter than the reference it is.
        let rtt = u64::from(flow.srtt_us8 >> 3).max(1);
        let ratio = (rtt << 10) / rtt.max(self.reference_us());
        let step = u64::from(left) * ratio * ratio;
        self.window += (step << SHIFT) / self.window.max(ONE);
        self.show(flow);
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
        self.follow(flow);
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

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use std::collections::VecDeque;

    /// Mean window where each segment is marked with probability `p` and acknowledged `rtt_us` later.
    fn mean_window(p: f64, rtt_us: u64) -> f64 {
        let mut rng = Rng::with_seed(3);
        let mut prague = Prague::new(Params::default());
        let mut flow = Flow::new(1_448, 10, 250);
        prague.init(&mut flow);
        (flow.srtt_us8, flow.is_cwnd_limited) = (8 * rtt_us as u32, true);
        // The deliveries known when each segment in flight was sent, and when it was.
        let mut sent = VecDeque::new();
        let (mut sum, mut count) = (0.0, 0);
        for step in 0..400_000 {
            while sent.len() < flow.cwnd as usize {
                sent.push_back((flow.delivered, flow.now_us));
            }
            let Some((prior_delivered, at_us)) = sent.pop_front() else {
                break;
            };
            // Paced: what is sent at once comes spread over the round.
            let gap_us = rtt_us / u64::from(flow.cwnd);
            flow.now_us = (flow.now_us + gap_us).max(at_us + rtt_us - gap_us);
            flow.delivered += 1;
            flow.delivered_ce += u32::from(rng.f64() < p);
            let sample = RateSample {
                prior_delivered,
                acked_sacked: 1,
                ..RateSample::default()
            };
            prague.control(&mut flow, &sample);
            if step > 40_000 {
                sum += f64::from(flow.cwnd) * gap_us as f64;
                count += gap_us;
            }
        }
        sum / count as f64
    }

    /// Growth is (1 - p) s^2 a round, with s the round-trip time over the reference, and a reduction by a half of p comes once in
    /// 1/s rounds and the wait for the next mark, 1/(p w) rounds: (p w)^2 / 2 = (1 - p) s^2 (p w / s + 1).
    fn law(p: f64, s: f64) -> f64 {
        let growth = (1.0 - p) * s * s;
        let half = growth / s;
        (half + (half * half + 2.0 * growth).sqrt()) / p
    }

    #[test]
    fn under_random_marks_the_window_is_that_of_growth_and_reductions_in_balance() {
        for (p, rtt_ms) in [(0.02, 25), (0.05, 25), (0.1, 25), (0.05, 21), (0.02, 10)] {
            let s = rtt_ms as f64 / 25.0;
            let (found, expected) = (mean_window(p, rtt_ms * 1_000), law(p, s));
            assert!(
                (found / expected - 1.0).abs() < 0.1,
                "{p} {rtt_ms}: {found} {expected}"
            );
        }
    }
}
