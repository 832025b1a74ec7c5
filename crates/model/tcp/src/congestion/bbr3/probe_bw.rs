//! The cycle of ProbeBW: down to leave a queue, cruise to leave room, refill and up to look for more.

use super::{Bbr3, Mode, ONE};
use crate::congestion::{Flow, RateSample};

/// Reno would probe after as many rounds as its window has segments; at most so many.
const MAX_RENO_ROUNDS: u32 = 63;
const MIN_WAIT_US: u64 = 2_000_000;
/// Waits step through the second beyond the minimum by the golden ratio.
const WAIT_STEP_MS: u32 = 618;

/// What acknowledgements are about while and after probing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

#[derive(Clone, Debug)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    start_us: u64,
    wait_ms: u32,
    pub rounds_since_probe: u32,
    /// Samples are of a probe, and may show too much in flight.
    has_probe_samples: bool,
    up_rounds: u32,
    up_acks: u32,
    /// Deliveries for one segment more; none if there is nothing to raise.
    up_count: Option<u32>,
}

impl Cycle {
    pub(super) fn new(first_wait_ms: u32) -> Cycle {
        Cycle {
            ack_phase: AckPhase::Init,
            start_us: 0,
            wait_ms: first_wait_ms % 1_000,
            rounds_since_probe: 0,
            has_probe_samples: false,
            up_rounds: 0,
            up_acks: 0,
            up_count: None,
        }
    }
}

impl Bbr3 {
    pub(super) fn start_down(&mut self, flow: &Flow) {
        self.recent.reset_congestion();
        self.cycle.up_count = None;
        self.cycle.rounds_since_probe = self.cycles & 1;
        self.cycle.wait_ms = (self.cycle.wait_ms + WAIT_STEP_MS) % 1_000;
        self.cycle.start_us = flow.now_us;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round(flow);
        self.mode = Mode::Down;
    }

    fn start_refill(&mut self, flow: &Flow) {
        self.recent.reset_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acks = 0;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round(flow);
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, flow: &Flow, rate: u32) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round(flow);
        self.reset_full();
        self.full_rate = rate;
        self.mode = Mode::Up;
        self.raise_slope(flow);
    }

    pub(super) fn update_cycle(&mut self, flow: &Flow, sample: &RateSample, rate: u32) {
        if !self.is_full {
            return;
        }
        self.adapt_long_term(flow, sample);
        let mode = self.mode;
        match mode {
            Mode::Down if !self.probe_if_due(flow) && self.may_cruise(flow) => {
                self.mode = Mode::Cruise;
            }
            Mode::Cruise => {
                self.probe_if_due(flow);
            }
            Mode::Refill if self.is_round_start => {
                self.cycle.has_probe_samples = true;
                self.start_up(flow, rate);
            }
            Mode::Up if self.has_probed_enough(flow, rate) => self.start_down(flow),
            _ => {}
        }
    }

    fn probe_if_due(&mut self, flow: &Flow) -> bool {
        let wait = MIN_WAIT_US + u64::from(self.cycle.wait_ms) * 1_000;
        let reno_rounds = self.target(flow).min(MAX_RENO_ROUNDS);
        let is_due = flow.now_us > self.cycle.start_us + wait
            || self.cycle.rounds_since_probe >= reno_rounds;
        if is_due {
            self.start_refill(flow);
        }
        is_due
    }

    fn may_cruise(&self, flow: &Flow) -> bool {
        let has_room = self
            .long_term
            .with_headroom()
            .is_none_or(|limit| flow.in_flight() <= limit);
        has_room && flow.in_flight() <= self.bdp(self.max_rate.get(), ONE)
    }

    fn is_limited_by_long_term(&self, flow: &Flow) -> bool {
        let is_at_limit = |limit: u32| flow.cwnd >= limit;
        flow.is_cwnd_limited && self.long_term.inflight.is_some_and(is_at_limit)
    }

    fn has_probed_enough(&mut self, flow: &Flow, rate: u32) -> bool {
        if self.is_limited_by_long_term(flow) {
            // The rate cannot grow before what is in flight does.
            self.reset_full();
            self.full_rate = rate;
            return false;
        }
        self.is_full_now
    }

    /// `BBRAdaptLongTermModel`.
    fn adapt_long_term(&mut self, flow: &Flow, sample: &RateSample) {
        if self.is_round_start {
            match self.cycle.ack_phase {
                AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => self.end_probe_samples(sample),
                _ => {}
            }
        }
        if Bbr3::is_inflight_too_high(flow, sample) {
            if self.cycle.has_probe_samples {
                self.lower_long_term(flow, sample);
            }
            return;
        }
        if let Some(inflight) = self.long_term.inflight {
            self.long_term.inflight = Some(inflight.max(sample.tx_in_flight));
            if self.is_up() {
                self.raise_long_term(flow, sample.acked_sacked);
            }
        }
    }

    fn end_probe_samples(&mut self, sample: &RateSample) {
        self.cycle.has_probe_samples = false;
        self.cycle.ack_phase = AckPhase::Init;
        if self.is_in_probe_bw() && !sample.is_app_limited {
            self.cycles += 1;
        }
    }

    /// `BBRHandleInflightTooHigh`.
    fn lower_long_term(&mut self, flow: &Flow, sample: &RateSample) {
        self.cycle.has_probe_samples = false;
        if !sample.is_app_limited {
            let floor = (u64::from(self.target(flow)) * 7 / 10) as u32;
            self.long_term.inflight = Some(sample.tx_in_flight.max(floor));
        }
        if self.is_up() {
            self.start_down(flow);
        }
    }

    fn raise_long_term(&mut self, flow: &Flow, acked: u32) {
        if !self.is_limited_by_long_term(flow) {
            return;
        }
        self.cycle.up_acks += acked;
        if let (Some(count), Some(inflight)) = (self.cycle.up_count, self.long_term.inflight) {
            let more = self.cycle.up_acks / count;
            self.cycle.up_acks -= more * count;
            self.long_term.inflight = Some(inflight + more);
        }
        if self.is_round_start {
            self.raise_slope(flow);
        }
    }

    /// Twice as fast every round.
    fn raise_slope(&mut self, flow: &Flow) {
        let growth = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.up_count = Some((flow.cwnd / growth).max(1));
    }
}
