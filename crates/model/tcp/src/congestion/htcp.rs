//! H-TCP: growth by the time since the last congestion, reduction by the ratio of round-trip times.
//!
//! # References
//! draft-leith-tcp-htcp-06; Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks",
//! PFLDnet 2004; Linux 6.12 `net/ipv4/tcp_htcp.c`, whose arithmetic is followed.
//!
//! # Where we differ
//! 1. From the draft, as Linux: growth is scaled by the round-trip time over 100 ms within 0.5 to 10,
//!    the largest round-trip time fades by 5 % at each congestion and grows by 20 ms at most, and
//!    times are in ticks of the coarse clock.

use super::{AckSample, Congestion, Flow, State};
use unbloat_params::params;

/// Fixed point of alpha and beta.
const ONE: u32 = 1 << 7;
const BETA_MIN: u32 = 1 << 6;
/// 0.8.
const BETA_MAX: u32 = 102;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        pub rtt_scaling: bool = true;
        /// Halve after the throughput has changed by more than a fifth.
        pub bandwidth_switch: bool = true;
    }
}

/// Times in ticks, rates in segments per second.
#[derive(Clone, Debug)]
pub struct Htcp {
    params: Params,
    alpha: u32,
    beta: u32,
    /// Beta may follow delay: there was a congestion before.
    is_adaptive: bool,
    segments: u32,
    min_rtt: u32,
    max_rtt: u32,
    last_congestion: u32,
    undo: Option<Undo>,
    rate: Rate,
}

#[derive(Clone, Debug)]
struct Undo {
    last_congestion: u32,
    max_rtt: u32,
    old_max_rate: u32,
}

#[derive(Clone, Debug, Default)]
struct Rate {
    segments: u32,
    since: u32,
    smoothed: u32,
    max: u32,
    old_max: u32,
}

impl Htcp {
    pub fn new(params: Params) -> Htcp {
        Htcp {
            params,
            alpha: ONE,
            beta: BETA_MIN,
            is_adaptive: false,
            segments: 1,
            min_rtt: 0,
            max_rtt: 0,
            last_congestion: 0,
            undo: None,
            rate: Rate::default(),
        }
    }

    fn since_congestion(&self, flow: &Flow) -> u32 {
        flow.jiffies().wrapping_sub(self.last_congestion)
    }

    fn measure_rtt(&mut self, flow: &Flow, rtt: u32) {
        if self.min_rtt == 0 || self.min_rtt > rtt {
            self.min_rtt = rtt;
        }
        if flow.state == State::Open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if self.max_rtt < rtt && rtt <= self.max_rtt + flow.ticks(20_000) {
                self.max_rtt = rtt;
            }
        }
    }

    fn measure_rate(&mut self, flow: &Flow, segments: u32) {
        let now = flow.jiffies();
        if flow.state > State::Disorder {
            self.rate.segments = 0;
            self.rate.since = now;
            return;
        }
        self.rate.segments += segments;
        let span = now.wrapping_sub(self.rate.since);
        let step = (self.alpha >> 7).max(1);
        let is_window = self.rate.segments >= flow.cwnd.wrapping_sub(step);
        if !is_window || span < self.min_rtt || self.min_rtt == 0 {
            return;
        }
        let current = self.rate.segments * flow.hz / span;
        let rounds = self.since_congestion(flow) / self.min_rtt;
        let rate = &mut self.rate;
        if rounds <= 3 {
            rate.smoothed = current;
            rate.max = current;
        } else {
            rate.smoothed = (3 * rate.smoothed + current) / 4;
            rate.max = rate.max.max(rate.smoothed);
        }
        rate.segments = 0;
        rate.since = now;
    }

    fn update_beta(&mut self, flow: &Flow) {
        if self.params.bandwidth_switch {
            let (max, old) = (self.rate.max, self.rate.old_max);
            self.rate.old_max = max;
            if !(4 * old..=6 * old).contains(&(5 * max)) {
                self.beta = BETA_MIN;
                self.is_adaptive = false;
                return;
            }
        }
        if self.is_adaptive && self.min_rtt > flow.ticks(10_000) && self.max_rtt > 0 {
            // As in the kernel, the ratio is kept in eight bits.
            let ratio = ((self.min_rtt << 7) / self.max_rtt) & 0xff;
            self.beta = ratio.clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.is_adaptive = true;
        }
    }

    fn update_alpha(&mut self, flow: &Flow) {
        let hz = flow.hz;
        let mut factor = 1;
        let elapsed = self.since_congestion(flow);
        if elapsed > hz {
            let d = elapsed - hz;
            // As in the kernel, the square may wrap: after minutes without congestion.
            factor = 1 + (10 * d + (d / 2).wrapping_mul(d / 2) / hz) / hz;
        }
        if self.params.rtt_scaling && self.min_rtt > 0 {
            // 100 ms over the round-trip time, times eight.
            let scale = ((hz << 3) / (10 * self.min_rtt)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
        if self.alpha == 0 {
            self.alpha = ONE;
        }
    }
}

impl Congestion for Htcp {
    fn init(&mut self, flow: &mut Flow) {
        self.last_congestion = flow.jiffies();
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        let (min_rtt, max_rtt) = (self.min_rtt, self.max_rtt);
        self.update_beta(flow);
        self.update_alpha(flow);
        if min_rtt > 0 && max_rtt > min_rtt {
            self.max_rtt = min_rtt + (max_rtt - min_rtt) * 95 / 100;
        }
        ((flow.cwnd * self.beta) >> 7).max(2)
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        if !flow.is_limited_by_cwnd() {
            return;
        }
        if flow.is_in_slow_start() {
            flow.slow_start(acked);
            return;
        }
        if (flow.cwnd_cnt.wrapping_mul(self.alpha)) >> 7 >= flow.cwnd {
            flow.cwnd = (flow.cwnd + 1).min(flow.cwnd_clamp);
            flow.cwnd_cnt = 0;
            self.update_alpha(flow);
        } else {
            flow.cwnd_cnt += self.segments;
        }
        self.segments = 1;
    }

    fn undo(&mut self, flow: &mut Flow) -> u32 {
        if let Some(undo) = self.undo.take() {
            self.last_congestion = undo.last_congestion;
            self.max_rtt = undo.max_rtt;
            self.rate.old_max = undo.old_max_rate;
        }
        flow.cwnd.max(flow.prior_cwnd)
    }

    fn set_state(&mut self, flow: &mut Flow, state: State) {
        match state {
            State::Open => {
                if self.undo.take().is_some() {
                    self.last_congestion = flow.jiffies();
                }
            }
            State::Cwr | State::Recovery | State::Loss => {
                self.undo = Some(Undo {
                    last_congestion: self.last_congestion,
                    max_rtt: self.max_rtt,
                    old_max_rate: self.rate.old_max,
                });
                self.last_congestion = flow.jiffies();
            }
            State::Disorder => {}
        }
    }

    fn acked(&mut self, flow: &mut Flow, sample: &AckSample) {
        if flow.state == State::Open {
            self.segments = sample.segments;
        }
        if let Some(rtt_us) = sample.rtt_us.filter(|&rtt_us| rtt_us > 0) {
            self.measure_rtt(flow, flow.ticks(rtt_us));
        }
        if self.params.bandwidth_switch {
            self.measure_rate(flow, sample.segments);
        }
    }
}
