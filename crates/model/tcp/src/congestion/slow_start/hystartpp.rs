//! HyStart++: when delay grows, slow start goes on at a quarter of its pace, to see if that was noise.
//!
//! # References
//! RFC 9406 sections 4.2 and 4.3, with its constants.
//!
//! # Where we differ
//! 1. A round ends with the first acknowledgement beyond what was sent when it began, counted after
//!    the acknowledgement's samples.

use super::Flow;

const MIN_RTT_THRESH_US: u32 = 4_000;
const MAX_RTT_THRESH_US: u32 = 16_000;
const MIN_RTT_DIVISOR: u32 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u8 = 5;
/// Segments that one acknowledgement may add when segments are not paced.
const L: u32 = 8;
const NO_RTT: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(in crate::congestion) struct HyStartPlusPlus {
    round_end: u64,
    last_round_us: u32,
    round_us: u32,
    samples: u32,
    /// In conservative slow start: the least delay when it began, and rounds so far.
    conservative: Option<(u32, u8)>,
    /// Segments delivered that have not yet made a quarter.
    rest: u32,
}

impl Default for HyStartPlusPlus {
    fn default() -> HyStartPlusPlus {
        HyStartPlusPlus {
            round_end: 0,
            last_round_us: NO_RTT,
            round_us: NO_RTT,
            samples: 0,
            conservative: None,
            rest: 0,
        }
    }
}

impl HyStartPlusPlus {
    pub(super) fn reset(&mut self, flow: &Flow) {
        *self = HyStartPlusPlus {
            round_end: flow.snd_nxt,
            ..HyStartPlusPlus::default()
        };
    }

    pub(super) fn acked(&mut self, flow: &mut Flow, rtt_us: u32) {
        self.round_us = self.round_us.min(rtt_us);
        self.samples += 1;
        self.judge();
        if flow.snd_una > self.round_end {
            self.end_round(flow);
        }
    }

    fn judge(&mut self) {
        if self.samples < N_RTT_SAMPLE || self.round_us == NO_RTT {
            return;
        }
        match self.conservative {
            Some((baseline, _)) if self.round_us < baseline => self.conservative = None,
            Some(_) => {}
            None if self.last_round_us != NO_RTT => {
                let threshold = (self.last_round_us / MIN_RTT_DIVISOR)
                    .clamp(MIN_RTT_THRESH_US, MAX_RTT_THRESH_US);
                if self.round_us >= self.last_round_us + threshold {
                    self.conservative = Some((self.round_us, 0));
                }
            }
            None => {}
        }
    }

    fn end_round(&mut self, flow: &mut Flow) {
        self.round_end = flow.snd_nxt;
        self.last_round_us = self.round_us;
        self.round_us = NO_RTT;
        self.samples = 0;
        if let Some((_, rounds)) = &mut self.conservative {
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                flow.ssthresh = flow.cwnd;
            }
        }
    }

    /// How many of `acked` segments may be added to the window.
    pub(super) fn allowed(&mut self, flow: &Flow, acked: u32) -> u32 {
        let acked = if flow.is_paced { acked } else { acked.min(L) };
        if self.conservative.is_none() {
            return acked;
        }
        let total = self.rest + acked;
        self.rest = total % CSS_GROWTH_DIVISOR;
        total / CSS_GROWTH_DIVISOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine acknowledgements, of which the last ends the round.
    fn round(hystart: &mut HyStartPlusPlus, flow: &mut Flow, rtt_us: u32) -> bool {
        hystart.round_end = flow.snd_una + 8_000;
        flow.snd_nxt = flow.snd_una + 20_000;
        for _ in 0..9 {
            flow.snd_una += 1_000;
            hystart.acked(flow, rtt_us);
        }
        hystart.conservative.is_some()
    }

    #[test]
    fn growing_delay_slows_down_and_five_rounds_of_it_end_slow_start() {
        let mut flow = Flow::new(1_000, 10, 250);
        let mut hystart = HyStartPlusPlus::default();
        // The threshold for 100 ms is 12.5 ms.
        assert!(!round(&mut hystart, &mut flow, 100_000));
        assert!(!round(&mut hystart, &mut flow, 112_000));
        assert!(round(&mut hystart, &mut flow, 126_000));
        assert_eq!(hystart.allowed(&flow, 6), 1);
        assert_eq!(hystart.allowed(&flow, 6), 2);
        for _ in 0..4 {
            assert!(flow.ssthresh > flow.cwnd);
            round(&mut hystart, &mut flow, 126_000);
        }
        assert_eq!(flow.ssthresh, flow.cwnd);
    }

    #[test]
    fn delay_that_falls_again_resumes_slow_start() {
        let mut flow = Flow::new(1_000, 10, 250);
        let mut hystart = HyStartPlusPlus::default();
        round(&mut hystart, &mut flow, 100_000);
        assert!(round(&mut hystart, &mut flow, 120_000));
        assert!(!round(&mut hystart, &mut flow, 110_000));
        assert_eq!(hystart.allowed(&flow, 20), 8);
    }
}
