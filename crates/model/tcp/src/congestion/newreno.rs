//! NewReno: slow start, one segment a round, halve on congestion.
//!
//! # References
//! RFC 5681 (slow start, congestion avoidance), RFC 6582; Linux 6.12 `net/ipv4/tcp_cong.c`.
//!
//! # Where we differ
//! 1. RFC 5681 grows by bytes and halves the flight size; as in Linux, growth counts delivered
//!    segments and the window itself is halved. They are the same while the window is full.

use super::slow_start::{Detector, SlowStart};
use super::{AckSample, Congestion, Flow, State};
use unbloat_params::params;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        pub slow_start: SlowStart = SlowStart::Standard;
    }
}

/// All other state of NewReno is in the flow.
#[derive(Clone, Debug)]
pub struct NewReno {
    slow_start: Detector,
    min_rtt_us: u32,
}

impl NewReno {
    pub fn new(params: Params) -> NewReno {
        NewReno {
            slow_start: Detector::new(params.slow_start),
            min_rtt_us: u32::MAX,
        }
    }
}

/// Growth of Reno, which several controls fall back to.
pub(super) fn avoid(flow: &mut Flow, acked: u32) {
    grow(flow, acked, Flow::slow_start);
}

fn grow(flow: &mut Flow, acked: u32, slow_start: impl FnOnce(&mut Flow, u32) -> u32) {
    if !flow.is_limited_by_cwnd() {
        return;
    }
    let mut left = acked;
    if flow.is_in_slow_start() {
        left = slow_start(flow, acked);
        if left == 0 {
            return;
        }
    }
    flow.additive_increase(flow.cwnd, left);
}

/// Half the window, at least two segments.
pub(super) fn half(flow: &Flow) -> u32 {
    (flow.cwnd >> 1).max(2)
}

impl Congestion for NewReno {
    fn init(&mut self, flow: &mut Flow) {
        self.slow_start.reset(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        half(flow)
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        grow(flow, acked, |flow, acked| self.slow_start.grow(flow, acked));
    }

    fn set_state(&mut self, flow: &mut Flow, state: State) {
        if state == State::Loss {
            self.slow_start.reset(flow);
        }
    }

    fn acked(&mut self, flow: &mut Flow, sample: &AckSample) {
        if let Some(rtt_us) = sample.rtt_us {
            self.min_rtt_us = self.min_rtt_us.min(rtt_us);
            self.slow_start.acked(flow, rtt_us, self.min_rtt_us);
        }
    }
}
