//! BBR, first version: model the path by its rate and its least round-trip time, send by the model.
//!
//! # References
//! Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00; Linux 6.12 `net/ipv4/tcp_bbr.c`, whose arithmetic
//! is followed (rates in segments per microsecond times 2^24, gains in 1/256).
//!
//! # Where we differ
//! 1. The kernel begins the gain cycle at a random phase; here the phases follow each other from
//!    [`Params::first_phase`], so that a run is repeatable. Give each flow its own.
//! 2. The kernel sends groups of segments (GSO) and leaves room for three of them in the window; we
//!    leave the same room, although segments are sent one by one.

mod model;
mod policer;

use super::{Congestion, CwndEvent, Flow, INFINITE_SSTHRESH, Needs, RateSample, State};
use model::{GAIN_ONE, RATE_SHIFT};
use policer::Policer;

pub(super) use model::Aggregation;

use crate::windowed::Windowed;
use unbloat_params::params;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        /// Where gain cycles begin: 0 to 6.
        pub first_phase: u8 = 0 => within(0..=6);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate every round until the pipe is full.
    Startup,
    /// Empties the queue that startup has left.
    Drain,
    /// Cycles around the rate of the path.
    ProbeBw,
    /// Empties the pipe to see the least round-trip time.
    ProbeRtt,
}

/// 2/ln 2, the least gain that doubles the rate every round; and its inverse.
const HIGH_GAIN: u32 = GAIN_ONE * 2_885 / 1_000 + 1;
const DRAIN_GAIN: u32 = GAIN_ONE * 1_000 / 2_885;
const CWND_GAIN: u32 = 2 * GAIN_ONE;
const CYCLE: [u32; 8] = [
    GAIN_ONE * 5 / 4,
    GAIN_ONE * 3 / 4,
    GAIN_ONE,
    GAIN_ONE,
    GAIN_ONE,
    GAIN_ONE,
    GAIN_ONE,
    GAIN_ONE,
];
/// Rounds that the rate filter looks back.
const RATE_ROUNDS: u32 = CYCLE.len() as u32 + 2;
const MIN_RTT_SECONDS: u32 = 10;
const PROBE_RTT_MS: u32 = 200;
const MIN_CWND: u32 = 4;
/// Startup has filled the pipe when the rate did not grow by a quarter for three rounds.
const FULL_THRESHOLD: u32 = GAIN_ONE * 5 / 4;
const FULL_ROUNDS: u8 = 3;

#[derive(Clone, Debug)]
pub struct Bbr {
    params: Params,
    mode: Mode,
    pacing_gain: u32,
    cwnd_gain: u32,
    phase: u8,
    phase_start_us: u64,

    rate: Windowed,
    min_rtt_us: u32,
    min_rtt_at: u32,
    aggregation: Aggregation,
    policer: Policer,

    rounds: u32,
    round_end: u32,
    is_round_start: bool,

    full_rate: u32,
    full_rounds: u8,
    is_full: bool,

    prior_cwnd: u32,
    prior_state: State,
    conserves: bool,
    is_idle_restart: bool,
    has_rtt: bool,
    /// In ticks; none until the pipe is empty enough.
    probe_rtt_until: Option<u32>,
    probe_rtt_round_done: bool,
}

impl Bbr {
    pub fn new(params: Params) -> Bbr {
        Bbr {
            params,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            phase: 0,
            phase_start_us: 0,
            rate: Windowed::new(0, 0),
            min_rtt_us: u32::MAX,
            min_rtt_at: 0,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            rounds: 0,
            round_end: 0,
            is_round_start: false,
            full_rate: 0,
            full_rounds: 0,
            is_full: false,
            prior_cwnd: 0,
            prior_state: State::Open,
            conserves: false,
            is_idle_restart: false,
            has_rtt: false,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
        }
    }

    fn update_model(&mut self, flow: &mut Flow, sample: &RateSample) {
        self.update_rate(flow, sample);
        self.update_aggregation(flow, sample);
        if self.mode == Mode::ProbeBw && self.is_phase_over(flow, sample) {
            self.next_phase(flow);
        }
        self.check_full(sample);
        self.check_drain(flow);
        self.update_min_rtt(flow, sample);
        self.update_gains();
    }

    /// Whether the gain has done its work: time for all, and in flight what it aims at.
    fn is_phase_over(&self, flow: &Flow, sample: &RateSample) -> bool {
        let elapsed = flow.delivered_us.saturating_sub(self.phase_start_us);
        let is_long = elapsed > u64::from(self.min_rtt_us);
        if self.pacing_gain == GAIN_ONE {
            return is_long;
        }
        let in_flight = self.in_network(flow, sample.prior_in_flight);
        let rate = self.rate.get();
        if self.pacing_gain > GAIN_ONE {
            let reached = in_flight >= self.target(flow, rate, self.pacing_gain);
            is_long && (sample.losses > 0 || reached)
        } else {
            is_long || in_flight <= self.target(flow, rate, GAIN_ONE)
        }
    }

    fn next_phase(&mut self, flow: &Flow) {
        self.phase = (self.phase + 1) % CYCLE.len() as u8;
        self.phase_start_us = flow.delivered_us;
    }

    fn enter_probe_bw(&mut self, flow: &Flow) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() as u8 - 1 - self.params.first_phase.min(6);
        self.next_phase(flow);
    }

    fn leave_probe_rtt(&mut self, flow: &mut Flow) {
        let now = flow.jiffies();
        let is_over = |until: u32| (now.wrapping_sub(until) as i32) > 0;
        if !self.probe_rtt_until.is_some_and(is_over) {
            return;
        }
        self.min_rtt_at = now;
        flow.cwnd = flow.cwnd.max(self.prior_cwnd);
        if self.is_full {
            self.enter_probe_bw(flow);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn check_full(&mut self, sample: &RateSample) {
        if self.is_full || !self.is_round_start || sample.is_app_limited {
            return;
        }
        let threshold = (u64::from(self.full_rate) * u64::from(FULL_THRESHOLD)) >> 8;
        if u64::from(self.rate.get()) >= threshold {
            self.full_rate = self.rate.get();
            self.full_rounds = 0;
        } else {
            self.full_rounds += 1;
            self.is_full = self.full_rounds >= FULL_ROUNDS;
        }
    }

    fn check_drain(&mut self, flow: &mut Flow) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            flow.ssthresh = self.target(flow, self.rate.get(), GAIN_ONE);
        }
        if self.mode == Mode::Drain {
            let target = self.target(flow, self.rate.get(), GAIN_ONE);
            if self.in_network(flow, flow.in_flight()) <= target {
                self.enter_probe_bw(flow);
            }
        }
    }

    fn update_min_rtt(&mut self, flow: &mut Flow, sample: &RateSample) {
        let now = flow.jiffies();
        let age = now.wrapping_sub(self.min_rtt_at) as i32;
        let is_expired = age > (MIN_RTT_SECONDS * flow.hz) as i32;
        if let Some(rtt_us) = sample.rtt_us
            && (rtt_us < self.min_rtt_us || (is_expired && !sample.is_ack_delayed))
        {
            self.min_rtt_us = rtt_us;
            self.min_rtt_at = now;
        }
        if is_expired && !self.is_idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(flow);
            self.probe_rtt_until = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(flow, now);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.is_idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, flow: &mut Flow, now: u32) {
        // Rates are low on purpose.
        flow.app_limited = (flow.delivered + flow.in_flight()).max(1);
        if self.probe_rtt_until.is_none() {
            if flow.in_flight() <= MIN_CWND {
                let wait = flow.ticks(PROBE_RTT_MS * 1_000);
                self.probe_rtt_until = Some(now.wrapping_add(wait));
                self.probe_rtt_round_done = false;
                self.round_end = flow.delivered;
            }
        } else {
            self.probe_rtt_round_done |= self.is_round_start;
            if self.probe_rtt_round_done {
                self.leave_probe_rtt(flow);
            }
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.is_in_use() => (GAIN_ONE, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[usize::from(self.phase)], CWND_GAIN),
            Mode::ProbeRtt => (GAIN_ONE, GAIN_ONE),
        };
    }

    fn save_cwnd(&mut self, flow: &Flow) {
        let is_good = self.prior_state < State::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_good {
            flow.cwnd
        } else {
            self.prior_cwnd.max(flow.cwnd)
        };
    }

    fn set_cwnd(&mut self, flow: &mut Flow, sample: &RateSample) {
        let acked = sample.acked_sacked;
        if acked > 0 {
            flow.cwnd = self.next_cwnd(flow, sample, acked);
        }
        flow.cwnd = flow.cwnd.min(flow.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            flow.cwnd = flow.cwnd.min(MIN_CWND);
        }
    }

    fn next_cwnd(&mut self, flow: &Flow, sample: &RateSample, acked: u32) -> u32 {
        let mut cwnd = self.recover_or_restore(flow, sample, acked);
        if self.conserves {
            return cwnd.max(flow.in_flight() + acked);
        }
        let bdp = self.bdp(self.rate(), self.cwnd_gain);
        let target = self.with_quanta(flow, bdp + self.aggregation_room());
        if self.is_full {
            cwnd = (cwnd + acked).min(target);
        } else if cwnd < target || flow.delivered < 10 {
            cwnd += acked;
        }
        cwnd.max(MIN_CWND)
    }

    /// In the first round of recovery as much leaves as is delivered; after it the window is as before.
    fn recover_or_restore(&mut self, flow: &Flow, sample: &RateSample, acked: u32) -> u32 {
        let mut cwnd = flow.cwnd;
        if sample.losses > 0 {
            cwnd = cwnd.saturating_sub(sample.losses).max(1);
        }
        let (before, state) = (self.prior_state, flow.state);
        if state == State::Recovery && before != State::Recovery {
            self.conserves = true;
            self.round_end = flow.delivered;
            cwnd = flow.in_flight() + acked;
        } else if before >= State::Recovery && state < State::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.prior_state = state;
        cwnd
    }
}

impl Congestion for Bbr {
    fn needs(&self) -> Needs {
        Needs {
            full_control: true,
            pacing: true,
            rate_samples: true,
            l4s: false,
        }
    }

    fn init(&mut self, flow: &mut Flow) {
        *self = Bbr::new(self.params.clone());
        flow.ssthresh = INFINITE_SSTHRESH;
        self.round_end = flow.delivered;
        self.min_rtt_us = flow.min_rtt_us;
        self.min_rtt_at = flow.jiffies();
        self.policer.reset(flow);
        self.aggregation.restart(flow.now_us);
        self.pace_by_rtt(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.save_cwnd(flow);
        flow.ssthresh
    }

    fn control(&mut self, flow: &mut Flow, sample: &RateSample) {
        self.update_model(flow, sample);
        self.set_pacing_rate(flow, self.rate(), self.pacing_gain);
        self.set_cwnd(flow, sample);
    }

    fn undo(&mut self, flow: &mut Flow) -> u32 {
        self.full_rate = 0;
        self.full_rounds = 0;
        self.policer.reset(flow);
        flow.cwnd
    }

    fn set_state(&mut self, flow: &mut Flow, state: State) {
        if state == State::Loss {
            self.prior_state = State::Loss;
            self.full_rate = 0;
            self.is_round_start = true;
            let sample = RateSample {
                losses: 1,
                ..RateSample::default()
            };
            self.sample_policer(flow, &sample);
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: CwndEvent) {
        if event != CwndEvent::TxStart || flow.app_limited == 0 {
            return;
        }
        self.is_idle_restart = true;
        self.aggregation.restart(flow.now_us);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(flow, self.rate(), GAIN_ONE),
            Mode::ProbeRtt => self.leave_probe_rtt(flow),
            Mode::Startup | Mode::Drain => {}
        }
    }
}

/// Segments over microseconds as a rate.
fn rate_of(segments: u32, us: u32) -> u32 {
    ((u64::from(segments) << RATE_SHIFT) / u64::from(us)) as u32
}
