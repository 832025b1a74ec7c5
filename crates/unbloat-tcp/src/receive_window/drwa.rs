//! DRWA: the receiver keeps the round-trip time within a multiple of the least one it has seen.
//!
//! # References
//! Jiang, Wang, Lee and Rhee, "Tackling Bufferbloat in 3G/4G Networks", IMC 2012, section 5:
//! `cwnd_est = alpha * cwnd_est + (1 - alpha) * data_rcvd` once a round-trip time,
//! `rwnd = lambda * (RTT_min / RTT_est) * cwnd_est`. Round-trip times by timestamps, smoothed by 7/8; without
//! timestamps, the time in which a window of data arrives.
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
//! 3. `dip_every` (off by default): a flow that starts on a standing queue takes that for its least round-trip time and
//!    pushes everybody else aside; one whose path has become longer starves itself. So all flows of a host dip together, at
//!    multiples of that time (of twice that where round-trip times are long): an eighth of the window for one and a
//!    half round-trip times empties the queue, and the least round-trip time is that since the dip before. Like the slowdowns
//!    of LEDBAT++ and BBR's PROBE_RTT.
//! 4. `eager` (off by default): while the round-trip time is nearer to its minimum than to what is aimed at, the estimate
//!    follows growth at once. Nobody waits, and the published rule would take a quarter a round where slow start doubles.
//! 5. `extra_segments` (none by default) are added to what the rule offers. The rule multiplies, so flows that share a queue
//!    keep whatever shares they came to. With the same addition to all, the smaller grow and the larger shrink (alpha of
//!    FAST TCP, Wei, Jin, Low and Hegde, ToN 2006). A flow with a window of `w` settles at `lambda * RTT_min / (1 - extra / w)`.

use super::{Rule, View};
use unbloat_units::{Bytes, Delta};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// In eighths.
    pub lambda_eighths: u32,
    /// Weight of the old estimate, in eighths.
    pub alpha_eighths: u32,
    /// Zero: never.
    pub dip_every: Delta,
    pub eager: bool,
    pub extra_segments: u16,
    pub initial: Bytes,
    pub max: Bytes,
}

impl Default for Params {
    /// The paper's.
    fn default() -> Params {
        Params {
            lambda_eighths: 24,
            alpha_eighths: 7,
            dip_every: Delta::ZERO,
            eager: false,
            extra_segments: 0,
            initial: Bytes::new(65_535),
            max: Bytes::mib(3),
        }
    }
}

/// Segments that are always offered.
const MIN_SEGMENTS: u64 = 4;
/// No round takes longer; keeps products within 64 bits.
const LONGEST_RTT_US: u32 = 60_000_000;
const LARGEST: u64 = 1 << 30;
/// What a dip leaves of the window.
const DIP_DIVISOR: u64 = 8;
/// Where less than so many round-trip times are between dips, they are half as frequent.
const ROUNDS_PER_DIP: u64 = 32;
/// Round-trip times after a dip before rounds count again.
const SETTLING: u64 = 3;

#[derive(Clone, Debug)]
pub struct Drwa {
    params: Params,
    window: u32,
    /// Bytes; zero before the first round.
    cwnd_estimate: u64,
    rtt_us8: u64,
    /// The least since the last dip, and between that and the one before.
    min_rtt_us: [u32; 2],
    since_us: u64,
    since_read: u64,
    /// Zero: not yet known.
    next_dip_us: u64,
    /// Zero: none under way.
    dip_end_us: u64,
    rtt_before_dip_us: u64,
    settled_us: u64,
}

impl Drwa {
    pub fn new(params: Params) -> Drwa {
        Drwa {
            window: params.initial.as_u64().min(params.max.as_u64()) as u32,
            params,
            cwnd_estimate: 0,
            rtt_us8: 0,
            min_rtt_us: [u32::MAX; 2],
            since_us: 0,
            since_read: 0,
            next_dip_us: 0,
            dip_end_us: 0,
            rtt_before_dip_us: 0,
            settled_us: 0,
        }
    }

    fn rtt_us(&self) -> u64 {
        self.rtt_us8 >> 3
    }

    /// Not asked before there was a sample.
    fn least_us(&self) -> u64 {
        u64::from(self.min_rtt_us[0].min(self.min_rtt_us[1]))
    }

    fn begin_round(&mut self, view: &View) {
        self.since_us = view.now_us;
        self.since_read = view.read;
    }

    fn estimate(&mut self, data: u64) {
        let old = self.cwnd_estimate;
        let lambda = u64::from(self.params.lambda_eighths);
        let is_short = 16 * self.rtt_us() < (8 + lambda) * self.least_us();
        let alpha = u64::from(self.params.alpha_eighths.min(8));
        self.cwnd_estimate = if old == 0 || (self.params.eager && is_short && data > old) {
            data
        } else {
            (alpha * old + (8 - alpha) * data) / 8
        };
    }

    fn offer(&mut self, view: &View, window: u64) {
        let floor = MIN_SEGMENTS * u64::from(view.mss);
        let max = self.params.max.as_u64().min(LARGEST);
        self.window = window.max(floor).min(max) as u32;
    }

    /// What a sender with that estimate may have under way while the round-trip time is the least.
    fn scaled(&self) -> u64 {
        let scaled = u64::from(self.params.lambda_eighths) * self.cwnd_estimate / 8;
        scaled.min(1 << 36)
    }

    /// Whether a dip is under way, so that there is nothing else to do.
    fn dips(&mut self, view: &View) -> bool {
        let every = self.params.dip_every.as_us().max(0) as u64;
        if every == 0 {
            return false;
        }
        if self.dip_end_us != 0 {
            if view.now_us >= self.dip_end_us {
                self.end_dip(view);
            }
            return true;
        }
        if self.next_dip_us == 0 || view.now_us >= self.next_dip_us {
            let is_due = self.next_dip_us != 0 && self.cwnd_estimate != 0;
            let period = self.period(every);
            self.next_dip_us = (view.now_us / period + 1) * period;
            if is_due {
                self.begin_dip(view);
            }
            return is_due;
        }
        false
    }

    /// A dip costs about two of the least round-trip times: on long paths each second one is left out.
    fn period(&self, every_us: u64) -> u64 {
        match every_us < ROUNDS_PER_DIP * self.rtt_us() {
            true => 2 * every_us,
            false => every_us,
        }
    }

    fn begin_dip(&mut self, view: &View) {
        if self.min_rtt_us[0] != u32::MAX {
            self.min_rtt_us = [u32::MAX, self.min_rtt_us[0]];
        }
        self.rtt_before_dip_us = self.rtt_us();
        self.dip_end_us = view.now_us + self.rtt_us() + self.rtt_us() / 2;
        self.offer(view, self.cwnd_estimate / DIP_DIVISOR);
    }

    /// Without a queue, a window that is smaller by as much keeps the same rate.
    fn end_dip(&mut self, view: &View) {
        self.dip_end_us = 0;
        let least = self.least_us().min(self.rtt_before_dip_us);
        self.cwnd_estimate = self.cwnd_estimate * least / self.rtt_before_dip_us;
        self.rtt_us8 = 8 * least;
        self.offer(view, self.scaled());
        self.settled_us = view.now_us + SETTLING * least;
        self.begin_round(view);
    }
}

impl Rule for Drwa {
    fn on_segment(&mut self, view: &View, _bytes: u32) {
        let Some(rtt_us) = view.rtt_us else { return };
        let rtt_us = rtt_us.clamp(1, LONGEST_RTT_US);
        self.rtt_us8 = match self.rtt_us8 {
            0 => u64::from(rtt_us) * 8,
            old => old - (old >> 3) + u64::from(rtt_us),
        };
        self.min_rtt_us[0] = self.min_rtt_us[0].min(rtt_us);
    }

    fn on_read(&mut self, view: &View) {
        if self.since_us == 0 || view.now_us < self.settled_us {
            self.begin_round(view);
            return;
        }
        let rtt_us = self.rtt_us();
        if rtt_us == 0 || self.dips(view) || view.now_us - self.since_us < rtt_us {
            return;
        }
        self.estimate((view.read - self.since_read).min(LARGEST));
        let extra = u64::from(self.params.extra_segments) * u64::from(view.mss);
        self.offer(view, self.scaled() * self.least_us() / rtt_us + extra);
        self.begin_round(view);
    }

    fn window(&self) -> u32 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Course {
        drwa: Drwa,
        view: View,
    }

    impl Course {
        fn new(params: Params) -> Course {
            let mut course = Course {
                drwa: Drwa::new(params),
                view: View {
                    now_us: 1_000_000,
                    mss: 1_000,
                    ..View::default()
                },
            };
            course.drwa.on_read(&course.view);
            course
        }

        /// So many samples of that round-trip time that the average is there.
        fn sample(&mut self, rtt_us: u32) {
            for _ in 0..200 {
                self.view.rtt_us = Some(rtt_us);
                self.drwa.on_segment(&self.view, 1_000);
            }
        }

        fn round(&mut self, rtt_us: u32, bytes: u64) -> u32 {
            self.sample(rtt_us);
            self.view.now_us += u64::from(rtt_us);
            self.view.read += bytes;
            self.drwa.on_read(&self.view);
            self.drwa.window()
        }
    }

    /// Values by hand from the two formulas.
    #[test]
    fn the_window_follows_the_estimate_and_falls_with_the_ratio_of_round_trip_times() {
        let mut course = Course::new(Params::default());
        assert_eq!(course.round(100_000, 80_000), 240_000);
        assert_eq!(course.round(100_000, 160_000), 270_000);
        assert_eq!(course.round(300_000, 90_000), 90_000);
        assert_eq!(course.round(300_000, 0), 78_750);
    }

    #[test]
    fn growth_is_followed_at_once_while_the_queue_is_short_if_that_is_asked_for() {
        let mut course = Course::new(Params {
            eager: true,
            ..Params::default()
        });
        assert_eq!(course.round(100_000, 80_000), 240_000);
        assert_eq!(course.round(190_000, 160_000), 3 * 160_000 * 100 / 190);
        // (7 * 160000 + 320000) / 8
        assert_eq!(course.round(300_000, 320_000), 180_000);
    }

    /// Two flows of a queue that is always as long as the rule aims at, begun with shares of 9 to 1.
    #[test]
    fn with_the_same_addition_unequal_shares_become_even_and_without_it_they_stay() {
        let ratio_after = |extra_segments, rounds| {
            let flow = || {
                Course::new(Params {
                    extra_segments,
                    ..Params::default()
                })
            };
            let mut flows = [flow(), flow()];
            let mut windows = [
                flows[0].round(300_000, 90_000),
                flows[1].round(300_000, 10_000),
            ];
            for course in &mut flows {
                course.drwa.min_rtt_us[0] = 100_000;
            }
            for _ in 0..rounds {
                let whole = windows[0] + windows[1];
                for (course, window) in flows.iter_mut().zip(&mut windows) {
                    let share = u64::from(*window) * 100_000 / u64::from(whole);
                    *window = course.round(300_000, share);
                }
            }
            f64::from(windows[0]) / f64::from(windows[1])
        };
        assert!((8.9..9.1).contains(&ratio_after(0, 300)));
        assert!((1.0..1.2).contains(&ratio_after(6, 300)));
    }

    /// A late-comer: 300 ms at its beginning, 100 ms when all have dipped.
    #[test]
    fn a_dip_finds_the_least_round_trip_time_and_keeps_the_rate() {
        let mut course = Course::new(Params {
            dip_every: Delta::secs(10),
            ..Params::default()
        });
        course.round(300_000, 80_000);
        assert_eq!(course.round(300_000, 80_000), 240_000);
        course.view.now_us = 10_000_001;
        assert_eq!(course.round(300_000, 80_000), 10_000);
        assert_eq!(course.round(100_000, 10_000), 10_000);
        course.view.now_us += 400_000;
        // A third of 80000, at the least round-trip time.
        assert_eq!(course.round(100_000, 10_000), 79_998);
    }

    #[test]
    fn two_dips_forget_a_path_that_was_shorter() {
        let mut course = Course::new(Params {
            dip_every: Delta::secs(10),
            ..Params::default()
        });
        course.round(50_000, 80_000);
        for second in [10, 11, 20, 21, 30, 31] {
            course.view.now_us = second * 1_000_000 + 1;
            course.round(100_000, 80_000);
        }
        assert_eq!(course.drwa.least_us(), 100_000);
    }
}
