//! NewReno: slow start, one segment a round, halve on congestion.
//!
//! # References
//! RFC 5681 (slow start, congestion avoidance), RFC 6582; Linux 6.12 `net/ipv4/tcp_cong.c`.
//!
//! # Where we differ
//! 1. RFC 5681 grows by bytes and halves the flight size; as in Linux, growth counts delivered
//!    segments and the window itself is halved. They are the same while the window is full.

use super::{Congestion, Flow};

/// NewReno has nothing to set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {}

/// All state of NewReno is in the flow.
#[derive(Clone, Debug, Default)]
pub struct NewReno {}

impl NewReno {
    pub fn new(_params: Params) -> NewReno {
        NewReno {}
    }
}

/// Growth of Reno, which several controls fall back to.
pub(super) fn avoid(flow: &mut Flow, acked: u32) {
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
    flow.additive_increase(flow.cwnd, left);
}

/// Half the window, at least two segments.
pub(super) fn half(flow: &Flow) -> u32 {
    (flow.cwnd >> 1).max(2)
}

impl Congestion for NewReno {
    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        half(flow)
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        avoid(flow, acked);
    }
}
