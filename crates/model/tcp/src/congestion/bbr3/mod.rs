//! BBR, third version: as the first, but loss bounds how much is kept in flight.
//!
//! # References
//! draft-ietf-ccwg-bbr-04, sections 2.8 (constants) and 5; names of states and signals are its.
//!
//! # What of it
//! Startup with exit by rate or by loss, Drain, ProbeBW (down, cruise, refill, up), ProbeRTT, the
//! long-term and short-term models, aggregation of ACKs, coexistence with Reno by rounds.
//!
//! # Where we differ
//! 1. Losses are judged when an acknowledgement reports them, by the segment that it samples, not for
//!    each lost segment by itself (`BBRHandleLostPacket`).
//! 2. Random waits come from [`Params::first_wait_ms`] and a fixed step, so that a run is repeatable.
//!    Give each flow its own.
//! 3. Segments are sent one by one: the window has no room for groups (`BBRQuantizationBudget`).
//! 4. No ECN, as in the draft.

mod model;
mod probe_bw;

use super::{Congestion, CwndEvent, Flow, INFINITE_SSTHRESH, Needs, RateSample, State};
use crate::windowed::Windowed;
use model::{Aggregation, LongTerm, Recent};
use probe_bw::{AckPhase, Cycle};
use unbloat_params::params;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        /// Of the wait between probes, which is 2 to 3 s: what the first one is beyond 2 s.
        pub first_wait_ms: u32 = 0 => within(0..=1_000);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Gains in 1/256.
const ONE: u32 = 256;
/// 2.77: 4 ln 2.
const STARTUP_PACING: u32 = 709;
const CWND_GAIN: u32 = 2 * ONE;
const UP_CWND_GAIN: u32 = 576;
const MIN_CWND: u32 = 4;
const FULL_ROUNDS: u8 = 3;
const STARTUP_LOSS_EVENTS: u32 = 6;
const MIN_RTT_US: u64 = 10_000_000;
const PROBE_RTT_INTERVAL_US: u64 = 5_000_000;
const PROBE_RTT_US: u64 = 200_000;

#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Params,
    mode: Mode,
    /// Segments per microsecond times 2^24: the largest of two cycles, and what is sent by.
    max_rate: Windowed,
    rate: u32,
    cycles: u32,
    long_term: LongTerm,
    recent: Recent,
    aggregation: Aggregation,
    cycle: Cycle,

    rounds: u32,
    round_end: u32,
    is_round_start: bool,

    full_rate: u32,
    full_rounds: u8,
    is_full_now: bool,
    is_full: bool,

    min_rtt_us: u32,
    min_rtt_at: u64,
    probe_rtt_min_us: u32,
    probe_rtt_min_at: u64,
    is_probe_rtt_due: bool,
    probe_rtt_until: Option<u64>,
    probe_rtt_round_done: bool,

    prior_cwnd: u32,
    prior_state: State,
    is_idle_restart: bool,
    has_rtt: bool,
}

impl Bbr3 {
    pub fn new(params: Params) -> Bbr3 {
        Bbr3 {
            cycle: Cycle::new(params.first_wait_ms),
            params,
            mode: Mode::Startup,
            max_rate: Windowed::new(0, 0),
            rate: 0,
            cycles: 0,
            long_term: LongTerm::default(),
            recent: Recent::default(),
            aggregation: Aggregation::default(),
            rounds: 0,
            round_end: 0,
            is_round_start: false,
            full_rate: 0,
            full_rounds: 0,
            is_full_now: false,
            is_full: false,
            min_rtt_us: u32::MAX,
            min_rtt_at: 0,
            probe_rtt_min_us: u32::MAX,
            probe_rtt_min_at: 0,
            is_probe_rtt_due: false,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            prior_cwnd: 0,
            prior_state: State::Open,
            is_idle_restart: false,
            has_rtt: false,
        }
    }

    fn is_in_probe_bw(&self) -> bool {
        matches!(
            self.mode,
            Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up
        )
    }

    /// Whether more than the model is tried on purpose.
    fn is_probing(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up)
    }

    fn start_round(&mut self, flow: &Flow) {
        self.round_end = flow.delivered;
    }

    fn reset_full(&mut self) {
        self.full_rate = 0;
        self.full_rounds = 0;
        self.is_full_now = false;
    }

    fn check_full(&mut self, sample: &RateSample, rate: u32) {
        if self.is_full_now || !self.is_round_start || sample.is_app_limited {
            return;
        }
        if u64::from(rate) * 4 >= u64::from(self.full_rate) * 5 {
            self.reset_full();
            self.full_rate = rate;
            return;
        }
        self.full_rounds += 1;
        self.is_full_now = self.full_rounds >= FULL_ROUNDS;
        self.is_full |= self.is_full_now;
    }

    fn check_startup_and_drain(&mut self, flow: &mut Flow) {
        if self.mode == Mode::Startup {
            self.check_startup_loss(flow);
            if self.is_full {
                self.mode = Mode::Drain;
            }
        }
        if self.mode == Mode::Drain && flow.in_flight() <= self.bdp(self.rate, ONE) {
            self.start_down(flow);
        }
    }

    /// A round of recovery with much loss: the pipe is full, and holds what was last delivered.
    fn check_startup_loss(&mut self, flow: &Flow) {
        if !self.recent.is_loss_round_end || flow.state != State::Recovery {
            return;
        }
        let (events, lost, delivered) = self.recent.round_losses();
        if events >= STARTUP_LOSS_EVENTS && lost * 50 > lost + delivered {
            self.is_full = true;
            let bdp = self.bdp(self.max_rate.get(), ONE);
            self.long_term.inflight = Some(bdp.max(self.recent.inflight));
        }
    }

    fn update_min_rtt(&mut self, flow: &Flow, sample: &RateSample) {
        let now = flow.now_us;
        self.is_probe_rtt_due = now > self.probe_rtt_min_at + PROBE_RTT_INTERVAL_US;
        if let Some(rtt_us) = sample.rtt_us
            && (rtt_us < self.probe_rtt_min_us || self.is_probe_rtt_due)
        {
            self.probe_rtt_min_us = rtt_us;
            self.probe_rtt_min_at = now;
        }
        let is_old = now > self.min_rtt_at + MIN_RTT_US;
        if self.probe_rtt_min_us < self.min_rtt_us || is_old {
            self.min_rtt_us = self.probe_rtt_min_us;
            self.min_rtt_at = self.probe_rtt_min_at;
        }
    }

    fn check_probe_rtt(&mut self, flow: &mut Flow, sample: &RateSample) {
        if self.mode != Mode::ProbeRtt && self.is_probe_rtt_due && !self.is_idle_restart {
            self.save_cwnd(flow);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round(flow);
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(flow);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.is_idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, flow: &mut Flow) {
        flow.app_limited = (flow.delivered + flow.in_flight()).max(1);
        if self.probe_rtt_until.is_none() {
            if flow.in_flight() <= self.probe_rtt_cwnd() {
                self.probe_rtt_until = Some(flow.now_us + PROBE_RTT_US);
                self.probe_rtt_round_done = false;
                self.start_round(flow);
            }
            return;
        }
        self.probe_rtt_round_done |= self.is_round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(flow);
        }
    }

    fn check_probe_rtt_done(&mut self, flow: &mut Flow) {
        if self
            .probe_rtt_until
            .is_some_and(|until| flow.now_us > until)
        {
            self.probe_rtt_min_at = flow.now_us;
            flow.cwnd = flow.cwnd.max(self.prior_cwnd);
            self.recent.reset_short_term();
            if self.is_full {
                self.start_down(flow);
                self.mode = Mode::Cruise;
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.rate, ONE / 2).max(MIN_CWND)
    }

    fn save_cwnd(&mut self, flow: &Flow) {
        let is_good = self.prior_state < State::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_good {
            flow.cwnd
        } else {
            self.prior_cwnd.max(flow.cwnd)
        };
    }

    fn pacing_gain(&self) -> u32 {
        match self.mode {
            Mode::Startup => STARTUP_PACING,
            Mode::Drain => ONE / 2,
            Mode::Down => ONE * 9 / 10,
            Mode::Up => ONE * 5 / 4,
            Mode::Cruise | Mode::Refill | Mode::ProbeRtt => ONE,
        }
    }

    fn cwnd_gain(&self) -> u32 {
        match self.mode {
            Mode::Up => UP_CWND_GAIN,
            Mode::ProbeRtt => ONE / 2,
            _ => CWND_GAIN,
        }
    }

    fn set_cwnd(&mut self, flow: &mut Flow, sample: &RateSample) {
        let (before, state) = (self.prior_state, flow.state);
        self.prior_state = state;
        if before >= State::Recovery && state < State::Recovery {
            flow.cwnd = flow.cwnd.max(self.prior_cwnd);
        }
        let acked = sample.acked_sacked;
        let room = self.aggregation.max();
        let mut target = (self.bdp(self.rate, self.cwnd_gain()) + room).max(MIN_CWND);
        target += if self.mode == Mode::Up { 2 } else { 0 };
        if self.is_full {
            flow.cwnd = (flow.cwnd + acked).min(target);
        } else if flow.cwnd < target || flow.delivered < 10 {
            flow.cwnd += acked;
        }
        flow.cwnd = flow.cwnd.max(MIN_CWND);
        if self.mode == Mode::ProbeRtt {
            flow.cwnd = flow.cwnd.min(self.probe_rtt_cwnd());
        }
        flow.cwnd = flow.cwnd.min(self.cap()).min(flow.cwnd_clamp);
    }

    /// What the models of loss allow.
    fn cap(&self) -> u32 {
        let long_term = match self.mode {
            Mode::Cruise | Mode::ProbeRtt => self.long_term.with_headroom(),
            Mode::Down | Mode::Refill | Mode::Up => self.long_term.inflight,
            Mode::Startup | Mode::Drain => None,
        };
        let short_term = self.recent.short_inflight;
        let caps = [long_term, short_term].into_iter().flatten();
        caps.min().unwrap_or(u32::MAX).max(MIN_CWND)
    }
}

impl Congestion for Bbr3 {
    fn needs(&self) -> Needs {
        Needs {
            full_control: true,
            pacing: true,
            rate_samples: true,
            l4s: false,
        }
    }

    fn init(&mut self, flow: &mut Flow) {
        *self = Bbr3::new(self.params.clone());
        flow.ssthresh = INFINITE_SSTHRESH;
        self.start_round(flow);
        self.recent.round_end = flow.delivered;
        self.min_rtt_us = flow.min_rtt_us;
        self.min_rtt_at = flow.now_us;
        self.probe_rtt_min_us = flow.min_rtt_us;
        self.probe_rtt_min_at = flow.now_us;
        self.aggregation.restart(flow.now_us);
        self.pace_by_rtt(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.save_cwnd(flow);
        flow.ssthresh
    }

    fn control(&mut self, flow: &mut Flow, sample: &RateSample) {
        let rate = model::sampled_rate(sample);
        self.update_signals(flow, sample, rate);
        self.update_aggregation(flow, sample);
        self.check_full(sample, rate);
        self.check_startup_and_drain(flow);
        self.update_cycle(flow, sample, rate);
        self.update_min_rtt(flow, sample);
        self.check_probe_rtt(flow, sample);
        self.advance_signals(sample, rate);
        self.set_pacing_rate(flow, self.pacing_gain());
        self.set_cwnd(flow, sample);
    }

    fn undo(&mut self, flow: &mut Flow) -> u32 {
        self.reset_full();
        self.recent.loss_events = 0;
        flow.cwnd.max(self.prior_cwnd)
    }

    fn set_state(&mut self, _flow: &mut Flow, state: State) {
        if state == State::Loss {
            self.prior_state = State::Loss;
            self.reset_full();
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: CwndEvent) {
        if event != CwndEvent::TxStart || flow.app_limited == 0 {
            return;
        }
        self.is_idle_restart = true;
        self.aggregation.restart(flow.now_us);
        if self.is_in_probe_bw() {
            self.set_pacing_rate(flow, ONE);
        } else if self.mode == Mode::ProbeRtt {
            self.check_probe_rtt_done(flow);
        }
    }
}
