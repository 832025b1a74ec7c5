//! HyStart as Linux's CUBIC has it: leave slow start before the queue overflows.
//!
//! # References
//! Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011; Linux 6.12
//! `hystart_update` in `net/ipv4/tcp_cubic.c`.

use super::Flow;

/// Below this window nothing is detected.
const LOW_WINDOW: u32 = 16;
/// ACKs closer than this belong to one train.
const TRAIN_SPACING_US: u64 = 2_000;
/// Samples of a round before its delay is judged.
const MIN_SAMPLES: u32 = 8;
const DELAY_MIN_US: u32 = 4_000;
const DELAY_MAX_US: u32 = 16_000;
/// What Linux sends in one piece at most, which widens a train.
const GSO_MAX_BYTES: u64 = 65_536;

/// Detects the end of slow start by trains of ACKs and by growing delay.
#[derive(Clone, Debug, Default)]
pub(in crate::congestion) struct HyStart {
    is_found: bool,
    samples: u32,
    round_start_us: u64,
    round_end: u64,
    last_ack_us: u64,
    round_rtt_us: u32,
}

impl HyStart {
    pub(super) fn reset(&mut self, flow: &Flow) {
        self.is_found = false;
        self.begin_round(flow);
    }

    fn begin_round(&mut self, flow: &Flow) {
        self.round_start_us = flow.now_us;
        self.last_ack_us = flow.now_us;
        self.round_end = flow.snd_nxt;
        self.round_rtt_us = u32::MAX;
        self.samples = 0;
    }

    /// Takes in a sample of the round-trip time; may set the threshold to the window.
    pub(super) fn acked(&mut self, flow: &mut Flow, rtt_us: u32, min_rtt_us: u32) {
        if self.is_found || !flow.is_in_slow_start() {
            return;
        }
        if flow.snd_una > self.round_end {
            self.begin_round(flow);
        }
        if flow.cwnd < LOW_WINDOW {
            return;
        }
        if self.is_train_long(flow, min_rtt_us) || self.is_delay_grown(rtt_us, min_rtt_us) {
            self.is_found = true;
            flow.ssthresh = flow.cwnd;
        }
    }

    /// A train as long as half a round trip: the pipe is full.
    fn is_train_long(&mut self, flow: &Flow, min_rtt_us: u32) -> bool {
        if flow.now_us - self.last_ack_us > TRAIN_SPACING_US {
            return false;
        }
        self.last_ack_us = flow.now_us;
        let mut threshold = min_rtt_us + gso_delay_us(flow);
        if !flow.is_paced {
            threshold >>= 1;
        }
        flow.now_us - self.round_start_us > u64::from(threshold)
    }

    fn is_delay_grown(&mut self, rtt_us: u32, min_rtt_us: u32) -> bool {
        self.round_rtt_us = self.round_rtt_us.min(rtt_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let allowed = (min_rtt_us >> 3).clamp(DELAY_MIN_US, DELAY_MAX_US);
        self.round_rtt_us > min_rtt_us + allowed
    }
}

/// Time that four of the largest pieces take at the current rate, at most a millisecond.
fn gso_delay_us(flow: &Flow) -> u32 {
    match flow.pacing_rate {
        0 => 0,
        rate => (GSO_MAX_BYTES * 4 * 1_000_000 / rate).min(1_000) as u32,
    }
}
