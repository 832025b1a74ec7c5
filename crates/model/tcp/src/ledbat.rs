//! LEDBAT++: a window that yields to everyone else by keeping the queueing delay at a target.
//!
//! # References
//! draft-irtf-iccrg-ledbat-plus-plus (delay by round-trip time, reduced gain, multiplicative decrease,
//! slowdowns), RFC 6817 (base delay as minimum of minutes, filter over the last samples). One
//! controller for the sender and, as rLEDBAT (RFC 9840), for the receiver.
//!
//! # Where we differ
//! 1. Growth in slow start is the whole of what is delivered times the gain, without pacing.
//! 2. Loss halves the window once a round, as does ECN at a sender.

use crate::congestion::INFINITE_SSTHRESH;
use unbloat_params::params;
use unbloat_params::range::PERIOD;
use unbloat_units::Delta;

params! {
    /// What both sides can set.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        /// Queueing delay that is aimed at.
        pub target: Delta = Delta::ms(60) => within(PERIOD);
        /// Empty the queue from time to time, to see the base delay and to let others in.
        pub slowdown: bool = true;
    }
}

/// The window has ten bits of fraction.
const FRACTION: u32 = 10;
const MINUTES: usize = 10;
const MINUTE_US: u64 = 60_000_000;
/// Samples of which the least counts.
const FILTER: usize = 4;
/// The largest divisor of the gain.
const MAX_DIVISOR: u64 = 16;
/// Segments during a slowdown.
const SLOW_SEGMENTS: u64 = 2;
/// A slowdown takes a tenth of the time.
const SLOWDOWN_RATIO: u64 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowdown {
    /// None before slow start has ended; then it begins at a time.
    Waiting,
    At(u64),
    /// The window is small until a time; began at another.
    Small {
        since: u64,
        until: u64,
    },
    /// Slow start back to the old window.
    Growing {
        since: u64,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Controller {
    params: Params,
    /// Bytes with fraction.
    window: u64,
    /// Bytes.
    threshold: u64,
    mss: u64,
    base: [u32; MINUTES],
    minute: usize,
    minute_end_us: u64,
    recent: [u32; FILTER],
    samples: usize,
    slowdown: Slowdown,
    /// No second reduction before.
    reduced_until_us: u64,
}

impl Controller {
    pub(crate) fn new(params: Params, window: u64, mss: u32) -> Controller {
        Controller {
            params,
            window: window << FRACTION,
            threshold: u64::from(INFINITE_SSTHRESH),
            mss: u64::from(mss),
            base: [u32::MAX; MINUTES],
            minute: 0,
            minute_end_us: 0,
            recent: [u32::MAX; FILTER],
            samples: 0,
            slowdown: Slowdown::Waiting,
            reduced_until_us: 0,
        }
    }

    /// Bytes, at least two segments.
    pub(crate) fn window(&self) -> u64 {
        (self.window >> FRACTION).max(SLOW_SEGMENTS * self.mss)
    }

    /// Takes in a sample of the round-trip time.
    pub(crate) fn sample(&mut self, now_us: u64, rtt_us: u32) {
        self.recent[self.samples % FILTER] = rtt_us;
        self.samples += 1;
        if now_us >= self.minute_end_us {
            self.minute_end_us = now_us + MINUTE_US;
            self.minute = (self.minute + 1) % MINUTES;
            self.base[self.minute] = rtt_us;
        }
        let base = &mut self.base[self.minute];
        *base = (*base).min(rtt_us);
    }

    fn base_us(&self) -> u64 {
        u64::from(self.base.into_iter().min().unwrap_or(u32::MAX))
    }

    fn current_us(&self) -> u64 {
        u64::from(self.recent.into_iter().min().unwrap_or(u32::MAX))
    }

    fn queueing_us(&self) -> u64 {
        self.current_us().saturating_sub(self.base_us())
    }

    fn target_us(&self) -> u64 {
        self.params.target.as_us().max(1) as u64
    }

    /// What the gain is divided by: long paths grow like Reno, short ones more slowly.
    fn divisor(&self) -> u64 {
        (2 * self.target_us())
            .div_ceil(self.base_us().max(1))
            .clamp(1, MAX_DIVISOR)
    }

    /// Takes in the delivery of `bytes`; `is_used` if the window limited what was sent.
    pub(crate) fn delivered(&mut self, now_us: u64, bytes: u64, is_used: bool) {
        if self.samples == 0 {
            return;
        }
        self.step_slowdown(now_us);
        if matches!(self.slowdown, Slowdown::Small { .. }) {
            return;
        }
        let window = self.window >> FRACTION;
        if window < self.threshold {
            self.slow_start(now_us, bytes, is_used);
        } else {
            self.avoid(window.max(1), bytes, is_used);
            // What is given up is not for slow start to take back.
            self.threshold = self.threshold.min(self.window >> FRACTION);
        }
        self.window = self.window.max((SLOW_SEGMENTS * self.mss) << FRACTION);
    }

    fn slow_start(&mut self, now_us: u64, bytes: u64, is_used: bool) {
        let is_initial = self.slowdown == Slowdown::Waiting;
        if is_initial && self.queueing_us() > self.target_us() * 3 / 4 {
            self.threshold = self.window >> FRACTION;
        } else if is_used {
            self.window += (bytes << FRACTION) / self.divisor();
        }
        if self.window >> FRACTION < self.threshold {
            return;
        }
        self.window = self.window.min(self.threshold.max(1) << FRACTION);
        self.slowdown = match self.slowdown {
            Slowdown::Waiting => Slowdown::At(now_us + 2 * self.current_us()),
            Slowdown::Growing { since } => Slowdown::At(now_us + SLOWDOWN_RATIO * (now_us - since)),
            other => other,
        };
    }

    fn avoid(&mut self, window: u64, bytes: u64, is_used: bool) {
        let (queueing, target) = (self.queueing_us(), self.target_us());
        let share = (bytes << FRACTION) / window;
        let gain = self.mss / self.divisor();
        if queueing < target {
            if is_used {
                self.window += gain * share;
            }
            return;
        }
        // A round changes the window by the gain less its excess over the target, at most by half.
        let excess = window * (queueing - target) / target;
        let down = excess.saturating_sub(gain).min(window / 2);
        self.window = self.window.saturating_sub(down * share);
        self.window += gain.saturating_sub(excess) * share;
    }

    fn step_slowdown(&mut self, now_us: u64) {
        match self.slowdown {
            Slowdown::At(at) if self.params.slowdown && now_us >= at => {
                self.threshold = self.window >> FRACTION;
                self.window = (SLOW_SEGMENTS * self.mss) << FRACTION;
                let until = now_us + 2 * self.current_us();
                self.slowdown = Slowdown::Small {
                    since: now_us,
                    until,
                };
            }
            Slowdown::Small { since, until } if now_us >= until => {
                self.slowdown = Slowdown::Growing { since };
            }
            _ => {}
        }
    }

    /// Halves the window, once a round.
    pub(crate) fn lost(&mut self, now_us: u64) {
        if now_us < self.reduced_until_us {
            return;
        }
        let rtt = if self.samples == 0 {
            0
        } else {
            self.current_us()
        };
        self.reduced_until_us = now_us + rtt;
        self.window /= 2;
        self.threshold = self.window >> FRACTION;
        if self.slowdown == Slowdown::Waiting {
            self.slowdown = Slowdown::At(now_us + 2 * rtt);
        }
    }

    /// The window after a timeout.
    pub(crate) fn restart(&mut self) {
        self.window = (SLOW_SEGMENTS * self.mss) << FRACTION;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    fn controller(window: u64) -> Controller {
        let params = Params {
            slowdown: false,
            ..Params::default()
        };
        let mut controller = Controller::new(params, window, MSS as u32);
        controller.threshold = 0;
        controller.sample(1, 120_000);
        controller
    }

    /// One round of ten deliveries of a tenth of the window.
    fn round(controller: &mut Controller, rtt_us: u32) {
        for n in 0..10 {
            for _ in 0..4 {
                controller.sample(2 + n, rtt_us);
            }
            controller.delivered(2 + n, controller.window() / 10, true);
        }
    }

    #[test]
    fn a_path_as_long_as_twice_the_target_grows_by_a_segment_a_round() {
        let mut controller = controller(100 * MSS);
        round(&mut controller, 120_000);
        assert!(
            controller.window().abs_diff(101 * MSS) < 20,
            "{}",
            controller.window()
        );
    }

    #[test]
    fn twice_the_target_halves_the_window_in_a_round() {
        let mut controller = controller(100 * MSS);
        round(&mut controller, 240_000);
        // Ten steps of a twentieth: 0.95^10.
        let expected = 100_000.0 * 0.95f64.powi(10);
        assert!(
            (controller.window() as f64 - expected).abs() < 600.0,
            "{}",
            controller.window()
        );
    }

    #[test]
    fn slow_start_ends_at_three_quarters_of_the_target_and_a_slowdown_follows() {
        let mut controller = Controller::new(Params::default(), 10 * MSS, MSS as u32);
        for _ in 0..4 {
            controller.sample(1_000_000, 100_000);
        }
        controller.delivered(1_000_000, 10 * MSS, true);
        // Gain one half: ceil(120 / 100).
        assert_eq!(controller.window(), 15 * MSS);
        for _ in 0..4 {
            controller.sample(1_100_000, 146_000);
        }
        controller.delivered(1_100_000, 15 * MSS, true);
        assert_eq!(controller.window(), 15 * MSS);
        controller.delivered(1_100_000 + 292_000, MSS, true);
        assert_eq!(controller.window(), 2 * MSS);
        controller.delivered(1_392_000 + 292_000, 2 * MSS, true);
        assert_eq!(controller.window(), 3 * MSS);
    }
}
