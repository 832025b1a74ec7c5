//! Vegas: keep between two and four segments in the queue, judged by delay once a round.
//!
//! # References
//! Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC
//! 13(8), 1995; Linux 6.12 `net/ipv4/tcp_vegas.c`, whose arithmetic is followed.
//!
//! # Where we differ
//! 1. From the paper, as Linux: slow start is left at one extra segment, judged every round; the
//!    finer retransmission mechanisms of the paper are those of the sender (RACK).

use super::{AckSample, Congestion, CwndEvent, Flow, State, newreno};
use unbloat_params::params;
use unbloat_params::range::WEIGHT;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        /// Grow below this many segments in the queue, shrink above that many.
        pub alpha: u32 = 2 => within(WEIGHT);
        pub beta: u32 = 4 => within(WEIGHT);
        /// Leave slow start above this many.
        pub gamma: u32 = 1 => within(WEIGHT);
    }
}

/// More than any round-trip time.
const NO_RTT: u32 = 0x7fff_ffff;
/// With fewer samples in a round, each may be of a delayed ACK.
const MIN_SAMPLES: u32 = 3;

#[derive(Clone, Debug)]
pub struct Vegas {
    params: Params,
    is_on: bool,
    round_end: u64,
    samples: u32,
    round_rtt_us: u32,
    base_rtt_us: u32,
}

impl Vegas {
    pub fn new(params: Params) -> Vegas {
        Vegas {
            params,
            is_on: true,
            round_end: 0,
            samples: 0,
            round_rtt_us: NO_RTT,
            base_rtt_us: NO_RTT,
        }
    }

    fn enable(&mut self, flow: &Flow) {
        self.is_on = true;
        self.begin_round(flow);
    }

    fn begin_round(&mut self, flow: &Flow) {
        self.round_end = flow.snd_nxt;
        self.samples = 0;
        self.round_rtt_us = NO_RTT;
    }

    fn end_round(&mut self, flow: &mut Flow, acked: u32) {
        if self.samples < MIN_SAMPLES {
            newreno::avoid(flow, acked);
        } else {
            self.adjust(flow, acked);
            flow.cwnd = flow.cwnd.clamp(2, flow.cwnd_clamp);
            flow.ssthresh = flow.current_ssthresh();
        }
    }

    fn adjust(&mut self, flow: &mut Flow, acked: u32) {
        let (rtt, base) = (self.round_rtt_us, self.base_rtt_us);
        let target = (u64::from(flow.cwnd) * u64::from(base) / u64::from(rtt)) as u32;
        // As in the kernel, the product may wrap: only with delays of hours.
        let queued = flow.cwnd.wrapping_mul(rtt - base) / base;
        if flow.is_in_slow_start() {
            if queued > self.params.gamma {
                flow.cwnd = flow.cwnd.min(target + 1);
                flow.ssthresh = flow.ssthresh.min(flow.cwnd);
            } else {
                flow.slow_start(acked);
            }
        } else if queued > self.params.beta {
            flow.cwnd -= 1;
            flow.ssthresh = flow.ssthresh.min(flow.cwnd);
        } else if queued < self.params.alpha {
            flow.cwnd += 1;
        }
    }
}

impl Congestion for Vegas {
    fn init(&mut self, flow: &mut Flow) {
        self.base_rtt_us = NO_RTT;
        self.enable(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        newreno::half(flow)
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        if !self.is_on {
            newreno::avoid(flow, acked);
        } else if flow.snd_una > self.round_end {
            self.end_round(flow, acked);
            self.begin_round(flow);
        } else if flow.is_in_slow_start() {
            flow.slow_start(acked);
        }
    }

    fn acked(&mut self, _flow: &mut Flow, sample: &AckSample) {
        if let Some(rtt_us) = sample.rtt_us {
            let rtt_us = rtt_us + 1;
            self.base_rtt_us = self.base_rtt_us.min(rtt_us);
            self.round_rtt_us = self.round_rtt_us.min(rtt_us);
            self.samples += 1;
        }
    }

    fn set_state(&mut self, flow: &mut Flow, state: State) {
        if state == State::Open {
            self.enable(flow);
        } else {
            self.is_on = false;
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: CwndEvent) {
        if matches!(event, CwndEvent::CwndRestart | CwndEvent::TxStart) {
            self.init(flow);
        }
    }
}
