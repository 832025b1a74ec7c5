//! BIC: binary search for the window at which the last loss was.
//!
//! # References
//! Xu, Harfoush and Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks",
//! INFOCOM 2004; Linux 6.12 `net/ipv4/tcp_bic.c`, whose arithmetic is followed.
//!
//! # Where we differ
//! 1. From the paper, as Linux: the search steps to a quarter of the distance, the last part takes 20
//!    rounds, growth is divided by the ratio of segments to ACKs, and the window shrinks to 0.8.

use super::PART;
use super::{AckSample, Congestion, Flow, State, newreno};
use unbloat_params::range::COUNT;
use unbloat_params::{defaults, params};

const SCALE: u32 = 1_024;
/// The search steps to one part of so many of the distance.
const SEARCH: u32 = 4;
/// The ratio of segments to ACKs has four bits of fraction.
const RATIO_SHIFT: u32 = 4;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        /// Window after congestion, in 1/1024 of the one before.
        pub beta: u32 = 819 => within(PART);
        /// As Reno up to this window.
        pub low_window: u32 = 14 => within(COUNT);
        /// Most segments to grow by in a round.
        pub max_increment: u32 = 16 => within(COUNT);
        /// Rounds from one search step below the maximum to the maximum.
        pub smooth_part: u32 = 20 => within(COUNT);
        pub fast_convergence: bool = true;
    }
}

#[derive(Clone, Debug)]
pub struct Bic {
    params: Params,
    search: Search,
}

defaults! {
    /// State of growth; forgotten at a timeout.
    #[derive(Clone, Debug)]
    struct Search {
        /// Deliveries for one segment more.
        count: u32 = 0;
        w_max: u32 = 0;
        last_cwnd: u32 = 0;
        last_time: u32 = 0;
        /// Segments for each ACK.
        ratio: u32 = 2 << RATIO_SHIFT;
    }
}

impl Bic {
    pub fn new(params: Params) -> Bic {
        Bic {
            params,
            search: Search::default(),
        }
    }

    fn update(&mut self, flow: &Flow) {
        let (cwnd, now) = (flow.cwnd, flow.jiffies());
        let since = now.wrapping_sub(self.search.last_time) as i32;
        if self.search.last_cwnd == cwnd && since <= (flow.hz / 32) as i32 {
            return;
        }
        self.search.last_cwnd = cwnd;
        self.search.last_time = now;
        self.search.count = self.count(cwnd);
    }

    fn count(&self, cwnd: u32) -> u32 {
        if cwnd <= self.params.low_window {
            return cwnd;
        }
        let w_max = self.search.w_max;
        let mut count = if cwnd < w_max {
            self.count_below(cwnd, w_max - cwnd)
        } else {
            self.count_above(cwnd, cwnd - w_max)
        };
        if w_max == 0 {
            count = count.min(20);
        }
        ((count << RATIO_SHIFT) / self.search.ratio).max(1)
    }

    /// Search for the maximum, in steps neither too large nor too small.
    fn count_below(&self, cwnd: u32, distance: u32) -> u32 {
        match distance / SEARCH {
            step if step > self.params.max_increment => cwnd / self.params.max_increment,
            0 | 1 => cwnd * self.params.smooth_part / SEARCH,
            step => cwnd / step,
        }
    }

    /// Beyond it: slowly away, then faster.
    fn count_above(&self, cwnd: u32, beyond: u32) -> u32 {
        if beyond < SEARCH {
            cwnd * self.params.smooth_part / SEARCH
        } else if beyond < self.params.max_increment * (SEARCH - 1) {
            cwnd * (SEARCH - 1) / beyond
        } else {
            cwnd / self.params.max_increment
        }
    }
}

impl Congestion for Bic {
    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        let (cwnd, beta) = (flow.cwnd, self.params.beta);
        self.search.w_max = if cwnd < self.search.w_max && self.params.fast_convergence {
            cwnd * (SCALE + beta) / (2 * SCALE)
        } else {
            cwnd
        };
        if cwnd <= self.params.low_window {
            newreno::half(flow)
        } else {
            (cwnd * beta / SCALE).max(2)
        }
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        if !flow.is_limited_by_cwnd() {
            return;
        }
        let mut left = acked;
        if flow.is_in_slow_start() {
            left = flow.slow_start(acked);
            if left == 0 {
                return;
            }
        }
        self.update(flow);
        flow.additive_increase(self.search.count, left);
    }

    fn set_state(&mut self, _flow: &mut Flow, state: State) {
        if state == State::Loss {
            self.search = Search::default();
        }
    }

    fn acked(&mut self, flow: &mut Flow, sample: &AckSample) {
        if flow.state == State::Open {
            let ratio = self.search.ratio;
            self.search.ratio = ratio - (ratio >> RATIO_SHIFT) + sample.segments;
        }
    }
}
