//! DRWA: the receiver keeps the round-trip time within a multiple of the least one it has seen.
//!
//! # References
//! Jiang, Wang, Lee and Rhee, "Tackling Bufferbloat in 3G/4G Networks", IMC 2012, section 5:
//! `cwnd_est = alpha * cwnd_est + (1 - alpha) * data_rcvd` once a round-trip time,
//! `rwnd = lambda * (RTT_min / RTT_est) * cwnd_est`. Round-trip times by timestamps, smoothed by 7/8.
//!
//! # What follows from the rule
//! A sender that is limited by the window settles at a round-trip time of `lambda * RTT_min`. While it
//! is limited and the queue is empty, the window grows by `(1 - alpha) * (lambda - 1)` a round: a
//! quarter with the defaults.
//!
//! # Where we differ
//! 1. The rule for the start is not published in what we have: the estimate starts with the first
//!    round's data, and the window is never less than four segments.
//! 2. A reduction takes effect only as data arrives: what was offered is not retracted.

use super::{Rule, View};
use unbloat_units::Bytes;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    pub lambda: u32,
    /// Weight of the old estimate, in eighths.
    pub alpha_eighths: u32,
    pub initial: Bytes,
    pub max: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            lambda: 3,
            alpha_eighths: 7,
            initial: Bytes::new(65_535),
            max: Bytes::mib(3),
        }
    }
}

/// Segments that are always offered.
const MIN_SEGMENTS: u64 = 4;

#[derive(Clone, Debug)]
pub struct Drwa {
    params: Params,
    window: u32,
    /// Bytes; none before the first round.
    cwnd_estimate: Option<u64>,
    since_us: u64,
    since_read: u64,
}

impl Drwa {
    pub fn new(params: Params) -> Drwa {
        Drwa {
            window: params.initial.as_u64().min(params.max.as_u64()) as u32,
            params,
            cwnd_estimate: None,
            since_us: 0,
            since_read: 0,
        }
    }

    fn estimate(&mut self, data: u64) -> u64 {
        let alpha = u64::from(self.params.alpha_eighths.min(8));
        let estimate = match self.cwnd_estimate {
            None => data,
            Some(old) => (alpha * old + (8 - alpha) * data) / 8,
        };
        self.cwnd_estimate = Some(estimate);
        estimate
    }
}

impl Rule for Drwa {
    fn on_read(&mut self, view: &View) {
        let rtt_us = u64::from(view.rtt_us8 >> 3);
        if self.since_us == 0 {
            self.since_us = view.now_us;
            self.since_read = view.read;
        }
        if rtt_us == 0 || view.min_rtt_us == 0 || view.now_us - self.since_us < rtt_us {
            return;
        }
        let estimate = self.estimate(view.read - self.since_read);
        let target = u64::from(self.params.lambda) * estimate * u64::from(view.min_rtt_us) / rtt_us;
        let floor = MIN_SEGMENTS * u64::from(view.mss);
        let max = self.params.max.as_u64().min(1 << 30);
        self.window = target.max(floor).min(max) as u32;
        self.since_us = view.now_us;
        self.since_read = view.read;
    }

    fn window(&self) -> u32 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by hand from the two formulas.
    #[test]
    fn the_window_follows_the_estimate_and_falls_with_the_ratio_of_round_trip_times() {
        let mut drwa = Drwa::new(Params::default());
        let mut view = View {
            now_us: 1_000_000,
            mss: 1_000,
            rtt_us8: 800_000,
            min_rtt_us: 100_000,
            ..View::default()
        };
        drwa.on_read(&view);
        let mut round = |rtt_us: u32, bytes: u64| {
            view.rtt_us8 = rtt_us * 8;
            view.now_us += u64::from(rtt_us);
            view.read += bytes;
            drwa.on_read(&view);
            drwa.window()
        };
        assert_eq!(round(100_000, 80_000), 240_000);
        assert_eq!(round(100_000, 160_000), 270_000);
        assert_eq!(round(300_000, 90_000), 90_000);
        assert_eq!(round(300_000, 0), 78_750);
    }
}
