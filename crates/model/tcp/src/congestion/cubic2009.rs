//! CUBIC of Linux 2.6.32 to 3.1, which the servers of the papers of 2012 and 2013 ran.
//!
//! # References
//! Ha, Rhee and Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant", ACM SIGOPS 42(5), 2008;
//! `net/ipv4/tcp_cubic.c` as of 2009.
//!
//! # What differs from today's
//! 1. The window grows per ACK, not per segment: in slow start by one, else corrected by a running
//!    ratio of segments to ACKs.
//! 2. HyStart counts in ticks of the coarse clock: at 250 a second its delay threshold of 2 to 16
//!    ticks is 8 to 64 ms. The delay of a round is the least of its first eight samples.
//! 3. The curve is unbounded: growth may be a segment for every ACK, and is 1 % a round at least only
//!    at the flat part. Idle time counts as time.
//!
//! # Where we differ
//! 1. No byte counting (`tcp_abc` was off) and no limited slow start, as by default then.

use super::PART;
use super::cubic::cubic_root;
use super::{AckSample, Congestion, Flow, State};
use unbloat_params::{defaults, params};

const SCALE: u32 = 1_024;
const TIME_SHIFT: u32 = 10;
const RATIO_SHIFT: u32 = 4;
/// Ticks of this clock have three bits of fraction in delays.
const DELAY_SHIFT: u32 = 3;
const LOW_WINDOW: u32 = 16;
const MIN_SAMPLES: u32 = 8;
const TRAIN_SPACING_US: u32 = 2_000;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        pub beta: u32 = 717 => within(PART);
        pub scale: u32 = 41 => within(1..=1_000);
        pub hystart: bool = true;
        /// Bounds of HyStart's delay threshold in ticks; the lower one was 4 from 2.6.39 on.
        pub delay_min_ticks: u32 = 2 => within(0..=1_000);
        pub delay_max_ticks: u32 = 16 => within(0..=1_000);
    }
}

#[derive(Clone, Debug)]
pub struct Cubic2009 {
    params: Params,
    curve: Curve,
    round: Round,
}

defaults! {
    #[derive(Clone, Debug)]
    struct Curve {
        count: u32 = 0;
        w_max: u32 = 0;
        last_cwnd: u32 = 0;
        last_time: u32 = 0;
        origin: u32 = 0;
        k: u32 = 0;
        /// Ticks with fraction; zero while unknown.
        min_delay: u32 = 0;
        epoch: Option<u32> = None;
        acks: u32 = 0;
        reno_cwnd: u32 = 0;
        ratio: u32 = 2 << RATIO_SHIFT;
    }
}

/// HyStart's view of a round.
#[derive(Clone, Debug, Default)]
struct Round {
    is_found: bool,
    start: u32,
    last_ack: u32,
    end: u64,
    delay: u32,
    samples: u32,
}

impl Cubic2009 {
    pub fn new(params: Params) -> Cubic2009 {
        Cubic2009 {
            params,
            curve: Curve::default(),
            round: Round::default(),
        }
    }

    fn begin_round(&mut self, flow: &Flow) {
        self.round = Round {
            is_found: self.round.is_found,
            start: flow.jiffies(),
            last_ack: flow.jiffies(),
            end: flow.snd_nxt,
            delay: 0,
            samples: 0,
        };
    }

    fn rtt_scale(&self) -> u64 {
        u64::from(self.params.scale) * 10
    }

    fn begin_epoch(&mut self, cwnd: u32, now: u32) {
        let factor = (1u64 << (10 + 3 * TIME_SHIFT)) / self.rtt_scale();
        let curve = &mut self.curve;
        curve.epoch = Some(now);
        curve.acks = 1;
        curve.reno_cwnd = cwnd;
        if curve.w_max <= cwnd {
            curve.k = 0;
            curve.origin = cwnd;
        } else {
            curve.k = cubic_root(factor * u64::from(curve.w_max - cwnd));
            curve.origin = curve.w_max;
        }
    }

    fn update(&mut self, flow: &Flow) {
        let (cwnd, now) = (flow.cwnd, flow.jiffies());
        self.curve.acks += 1;
        let since = now.wrapping_sub(self.curve.last_time) as i32;
        if self.curve.last_cwnd == cwnd && since <= (flow.hz / 32) as i32 {
            return;
        }
        self.curve.last_cwnd = cwnd;
        self.curve.last_time = now;
        if self.curve.epoch.is_none() {
            self.begin_epoch(cwnd, now);
        }
        let count = self.count_on_curve(flow, now).min(self.count_of_reno(cwnd));
        self.curve.count = ((count << RATIO_SHIFT) / self.curve.ratio).max(1);
    }

    fn count_on_curve(&self, flow: &Flow, now: u32) -> u32 {
        let curve = &self.curve;
        let elapsed = now.wrapping_sub(curve.epoch.unwrap_or(now));
        let ticks = u64::from(elapsed + (curve.min_delay >> DELAY_SHIFT));
        let t = (ticks << TIME_SHIFT) / u64::from(flow.hz);
        let offset = t.abs_diff(u64::from(curve.k));
        let cubed = offset.wrapping_mul(offset).wrapping_mul(offset);
        let delta = (self.rtt_scale().wrapping_mul(cubed) >> (10 + 3 * TIME_SHIFT)) as u32;
        let target = if t < u64::from(curve.k) {
            curve.origin.wrapping_sub(delta)
        } else {
            curve.origin.wrapping_add(delta)
        };
        match target.checked_sub(flow.cwnd) {
            None | Some(0) => 100 * flow.cwnd,
            Some(gap) => flow.cwnd / gap,
        }
    }

    fn count_of_reno(&mut self, cwnd: u32) -> u32 {
        let beta = self.params.beta;
        let scale = 8 * (SCALE + beta) / 3 / (SCALE - beta);
        let per_segment = ((cwnd * scale) >> 3).max(1);
        let curve = &mut self.curve;
        while curve.acks > per_segment {
            curve.acks -= per_segment;
            curve.reno_cwnd += 1;
        }
        match curve.reno_cwnd.checked_sub(cwnd) {
            None | Some(0) => u32::MAX,
            Some(gap) => cwnd / gap,
        }
    }

    fn hystart(&mut self, flow: &mut Flow, delay: u32) {
        let now = flow.jiffies();
        let min_delay = self.curve.min_delay;
        let spacing = flow.ticks(TRAIN_SPACING_US);
        let round = &mut self.round;
        if now.wrapping_sub(round.last_ack) <= spacing {
            round.last_ack = now;
            // Half of the least delay.
            round.is_found |= now.wrapping_sub(round.start) >= min_delay >> (DELAY_SHIFT + 1);
        }
        if round.samples < MIN_SAMPLES {
            round.delay = if round.delay == 0 {
                delay
            } else {
                round.delay.min(delay)
            };
            round.samples += 1;
        } else {
            let low = self.params.delay_min_ticks << DELAY_SHIFT;
            let high = self.params.delay_max_ticks << DELAY_SHIFT;
            round.is_found |= round.delay > min_delay + (min_delay >> 4).clamp(low, high);
        }
        if round.is_found {
            flow.ssthresh = flow.cwnd;
        }
    }
}

impl Congestion for Cubic2009 {
    fn init(&mut self, flow: &mut Flow) {
        self.begin_round(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.curve.epoch = None;
        let (cwnd, beta) = (flow.cwnd, self.params.beta);
        self.curve.w_max = if cwnd < self.curve.w_max {
            cwnd * (SCALE + beta) / (2 * SCALE)
        } else {
            cwnd
        };
        (cwnd * beta / SCALE).max(2)
    }

    fn avoid(&mut self, flow: &mut Flow, _acked: u32) {
        if !flow.is_limited_by_cwnd() {
            return;
        }
        if flow.cwnd <= flow.ssthresh {
            if self.params.hystart && flow.snd_una > self.round.end {
                self.begin_round(flow);
            }
            flow.cwnd = (flow.cwnd + 1).min(flow.cwnd_clamp);
            return;
        }
        self.update(flow);
        if flow.cwnd_cnt >= self.curve.count {
            flow.cwnd = (flow.cwnd + 1).min(flow.cwnd_clamp);
            flow.cwnd_cnt = 0;
        } else {
            flow.cwnd_cnt += 1;
        }
    }

    fn set_state(&mut self, flow: &mut Flow, state: State) {
        if state == State::Loss {
            self.curve = Curve::default();
            self.round.is_found = false;
            self.begin_round(flow);
        }
    }

    fn acked(&mut self, flow: &mut Flow, sample: &AckSample) {
        if flow.state == State::Open {
            let ratio = self.curve.ratio;
            self.curve.ratio = ratio - (ratio >> RATIO_SHIFT) + sample.segments;
        }
        let Some(rtt_us) = sample.rtt_us else {
            return;
        };
        let now = flow.jiffies();
        let is_fresh = |epoch| (now.wrapping_sub(epoch) as i32) < flow.hz as i32;
        if self.curve.epoch.is_some_and(is_fresh) {
            return;
        }
        let delay = (flow.ticks(rtt_us) << DELAY_SHIFT).max(1);
        if self.curve.min_delay == 0 || self.curve.min_delay > delay {
            self.curve.min_delay = delay;
        }
        let in_slow_start = flow.cwnd <= flow.ssthresh && flow.cwnd >= LOW_WINDOW;
        if self.params.hystart && in_slow_start && !self.round.is_found {
            self.hystart(flow, delay);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> Flow {
        let mut flow = Flow::new(1_448, 20, 250);
        flow.now_us = 1_000_000;
        flow.is_cwnd_limited = true;
        flow
    }

    /// An ACK that is too far from the one before to belong to a train.
    fn ack(cubic: &mut Cubic2009, flow: &mut Flow, ticks: u32) {
        flow.now_us += 20_000;
        let rtt_us = Some(ticks * 4_000);
        cubic.acked(
            flow,
            &AckSample {
                segments: 1,
                rtt_us,
            },
        );
    }

    #[test]
    fn slow_start_counts_acks_not_segments() {
        let mut flow = fresh();
        let mut cubic = Cubic2009::new(Params::default());
        cubic.init(&mut flow);
        for acked in [1, 2, 5] {
            cubic.avoid(&mut flow, acked);
        }
        assert_eq!(flow.cwnd, 23);
    }

    /// 100 ms are 25 ticks; a sixteenth of 200 (three bits of fraction) is below the least of two ticks,
    /// so that 27 ticks are allowed and 28 are not.
    #[test]
    fn slow_start_ends_when_a_round_is_two_ticks_longer() {
        for (ticks, ends) in [(27, false), (28, true)] {
            let mut flow = fresh();
            let mut cubic = Cubic2009::new(Params::default());
            cubic.init(&mut flow);
            ack(&mut cubic, &mut flow, 25);
            cubic.begin_round(&flow);
            for _ in 0..9 {
                ack(&mut cubic, &mut flow, ticks);
            }
            assert_eq!(flow.ssthresh == flow.cwnd, ends, "{ticks}");
        }
    }
}
