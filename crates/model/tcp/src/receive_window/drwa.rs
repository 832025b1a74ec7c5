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
//!    multiples of that time (of twice that where round-trip times are long), and the least round-trip time is that since the
//!    dip before. Like the slowdowns of LEDBAT++ and BBR's PROBE_RTT. For one and a quarter round-trip times each offers three
//!    quarters of what the path holds by the least time it knows. Who sees that time again was right, hardly anything was
//!    lost, and what the path holds is offered for the rest of the dip, another three quarters of a round-trip time. Who sees
//!    another offers an eighth of its window for the rest, and who has never dipped does so from the beginning. Who has seen the
//!    least time without a dip, on a link that varies or from a sender that pauses, leaves the next one out.
//! 4. `eager` (off by default): while the round-trip time is nearer to its minimum than to what is aimed at, the estimate
//!    follows growth at once. Nobody waits, and the published rule would take a quarter a round where slow start doubles.
//! 5. `extra_segments` (none by default) are added to what the rule offers. The rule multiplies, so flows that share a queue
//!    keep whatever shares they came to. With the same addition to all, the smaller grow and the larger shrink (alpha of
//!    FAST TCP, Wei, Jin, Low and Hegde, ToN 2006). A flow with a window of `w` settles at `lambda * RTT_min / (1 - extra / w)`.
//! 6. `lambda_unfilled` (as lambda by default): a sender that leaves a quarter of what it is offered has a limit of its own, as BBR
//!    has. Its queue is not ours to bound tightly, and what it finds out about the path is spoilt where we do: with lambda 2,
//!    BBR lost up to 7 % on recorded links.

use super::bounds;
use super::{Rule, View};
use unbloat_params::range::SPAN;
use unbloat_params::{Read, Settings, defaults};
use unbloat_units::{Bytes, Delta};

const LAMBDA: std::ops::RangeInclusive<f64> = 1.0..=1_000.0;

defaults! {
    /// The paper's.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params {
        /// In eighths.
        pub lambda_eighths: u32 = 24;
        /// For a sender that does not use what it is offered; not less than lambda.
        pub lambda_unfilled_eighths: u32 = 24;
        /// Weight of the old estimate, in eighths.
        pub alpha_eighths: u32 = 7;
        /// Zero: never.
        pub dip_every: Delta = Delta::ZERO;
        pub eager: bool = false;
        pub extra_segments: u16 = 0;
        pub initial: Bytes = Bytes::new(65_535);
        pub max: Bytes = Bytes::mib(3);
    }
}

impl<S: Settings> Read<S> for Params {
    fn read(settings: &mut S) -> Result<Params, S::Error> {
        let default = Params::default();
        let (initial, max) = bounds(settings, default.initial, default.max)?;
        let lambda = settings.within("lambda", 3.0, &LAMBDA)?;
        let unfilled = settings.within("lambda_unfilled", lambda, &LAMBDA)?;
        let eighths = |value: f64| (8.0 * value).round() as u32;
        Ok(Params {
            lambda_eighths: eighths(lambda),
            lambda_unfilled_eighths: eighths(unfilled),
            alpha_eighths: settings.within("alpha_eighths", default.alpha_eighths, &(0..=8))?,
            dip_every: settings.within("dip_every", default.dip_every, &SPAN)?,
            eager: settings.or("eager", default.eager)?,
            extra_segments: settings.within(
                "extra_segments",
                default.extra_segments,
                &(0..=1_000),
            )?,
            initial,
            max,
        })
    }
}

/// Segments that are always offered.
const MIN_SEGMENTS: u64 = 4;
/// No round takes longer; keeps products within 64 bits.
const LONGEST_RTT_US: u32 = 60_000_000;
const LARGEST: u64 = 1 << 30;
/// What a dip leaves of what the path holds, in quarters, while the least round-trip time that is known may be right, and how long
/// that lasts, in quarters of the round-trip time.
const SHALLOW_QUARTERS: u64 = 3;
const EARLY_QUARTERS: u64 = 5;
/// What it leaves of the window if that time is not right, and how much longer the dip lasts in any case.
const DEEP_DIVISOR: u64 = 8;
const LATE_QUARTERS: u64 = 3;
/// A longer round-trip time counts as so many of the least: the link stands still, or the queue is somebody else's.
const LONGEST_DIP: u64 = 4;
/// Round-trip times that differ by this part of the least one are alike.
const ALIKE: u64 = 8;
/// Where less than so many round-trip times are between dips, they are half as frequent.
const ROUNDS_PER_DIP: u64 = 32;
/// Round-trip times after a dip before rounds count again.
const SETTLING: u64 = 3;
/// What "all" is of a share.
const WHOLE: u64 = 4_096;
/// A sender that uses less than this of what it is offered does not fill it.
const FILLED: u64 = WHOLE * 3 / 4;

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
    /// The right edge of what was offered, which never moves back, and how much of that was open when the round began.
    edge: u64,
    allowed: u64,
    /// Share of it that came in a round, smoothed by 15/16.
    filled: u64,
    /// Zero: not yet known.
    next_dip_us: u64,
    /// The least since half a time between dips before the next one.
    seen_us: u32,
    seen_from_us: u64,
    /// Zero: none under way.
    dip_end_us: u64,
    /// The first of a dip's two parts.
    is_early: bool,
    rtt_before_dip_us: u64,
    least_before_dip_us: u64,
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
            edge: 0,
            allowed: 0,
            filled: WHOLE,
            next_dip_us: 0,
            seen_us: u32::MAX,
            seen_from_us: 0,
            dip_end_us: 0,
            is_early: false,
            rtt_before_dip_us: 0,
            least_before_dip_us: 0,
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
        self.edge = self.edge.max(view.read + u64::from(self.window));
        self.allowed = self.edge - view.read;
    }

    fn judge_use(&mut self, data: u64) {
        if self.allowed == 0 {
            return;
        }
        let share = (data * WHOLE / self.allowed).min(WHOLE);
        self.filled = (15 * self.filled + share) / 16;
    }

    fn lambda_eighths(&self) -> u64 {
        let params = &self.params;
        u64::from(match self.filled < FILLED {
            true => params.lambda_unfilled_eighths.max(params.lambda_eighths),
            false => params.lambda_eighths,
        })
    }

    fn estimate(&mut self, data: u64) {
        let old = self.cwnd_estimate;
        let is_short = 16 * self.rtt_us() < (8 + self.lambda_eighths()) * self.least_us();
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
        let scaled = self.lambda_eighths() * self.cwnd_estimate / 8;
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
                self.go_on_with_dip(view);
            }
            return true;
        }
        if self.next_dip_us != 0 && view.now_us < self.next_dip_us {
            return false;
        }
        let is_due = self.next_dip_us != 0 && self.cwnd_estimate != 0;
        let period = self.period(every);
        self.next_dip_us = (view.now_us / period + 1) * period;
        self.seen_from_us = self.next_dip_us - period / 2;
        let seen_us = std::mem::replace(&mut self.seen_us, u32::MAX);
        if !is_due {
            return false;
        }
        if self.is_floor(seen_us) {
            self.min_rtt_us = [seen_us, self.min_rtt_us[0]];
            return false;
        }
        self.begin_dip(view);
        true
    }

    /// A deep dip costs about a round-trip time: on long paths each second one is left out.
    fn period(&self, every_us: u64) -> u64 {
        match every_us < ROUNDS_PER_DIP * self.rtt_us() {
            true => 2 * every_us,
            false => every_us,
        }
    }

    /// Whether a round-trip time was seen that makes a dip needless. The first one is not: who began on a queue knows nothing better.
    fn is_floor(&self, seen_us: u32) -> bool {
        let least_us = self.least_us();
        self.min_rtt_us[1] != u32::MAX && u64::from(seen_us) <= least_us + least_us / ALIKE
    }

    fn begin_dip(&mut self, view: &View) {
        let is_first = self.min_rtt_us[1] == u32::MAX;
        self.rtt_before_dip_us = self.rtt_us();
        self.least_before_dip_us = self.least_us();
        if self.min_rtt_us[0] != u32::MAX {
            self.min_rtt_us = [u32::MAX, self.min_rtt_us[0]];
        }
        self.is_early = true;
        self.dip_end_us = view.now_us + self.dip_lasts_us(EARLY_QUARTERS);
        self.offer(
            view,
            match is_first {
                true => self.cwnd_estimate / DEEP_DIVISOR,
                false => self.path_holds() * SHALLOW_QUARTERS / 4,
            },
        );
    }

    fn go_on_with_dip(&mut self, view: &View) {
        if !self.is_early {
            self.end_dip(view);
            return;
        }
        let (found_us, known_us) = (self.min_rtt_us[0], self.least_before_dip_us);
        let is_known = u64::from(found_us).abs_diff(known_us) <= known_us / ALIKE;
        self.is_early = false;
        self.dip_end_us = view.now_us + self.dip_lasts_us(LATE_QUARTERS);
        self.offer(
            view,
            match is_known {
                true => self.path_holds(),
                false => self.cwnd_estimate / DEEP_DIVISOR,
            },
        );
    }

    fn dip_lasts_us(&self, quarters: u64) -> u64 {
        self.rtt_before_dip_us
            .min(LONGEST_DIP * self.least_before_dip_us)
            * quarters
            / 4
    }

    /// By the round-trip times that were known before the dip.
    fn path_holds(&self) -> u64 {
        let least_us = self.least_before_dip_us.min(self.rtt_before_dip_us);
        self.cwnd_estimate * least_us / self.rtt_before_dip_us
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
        let is_settled = self.dip_end_us == 0 && view.now_us >= self.settled_us;
        if is_settled && view.now_us >= self.seen_from_us {
            self.seen_us = self.seen_us.min(rtt_us);
        }
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
        let data = (view.read - self.since_read).min(LARGEST);
        self.judge_use(data);
        self.estimate(data);
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

    fn dipping() -> Course {
        Course::new(Params {
            dip_every: Delta::secs(10),
            ..Params::default()
        })
    }

    /// A late-comer: 300 ms at its beginning, 100 ms when all have dipped.
    #[test]
    fn a_first_dip_is_deep_finds_a_lesser_round_trip_time_and_keeps_the_rate() {
        let mut course = dipping();
        course.round(300_000, 80_000);
        assert_eq!(course.round(300_000, 80_000), 240_000);
        course.view.now_us = 10_000_001;
        assert_eq!(course.round(300_000, 80_000), 10_000);
        course.view.now_us += 275_000;
        assert_eq!(course.round(100_000, 10_000), 10_000);
        course.view.now_us += 125_000;
        // A third of 80000, at the least round-trip time.
        assert_eq!(course.round(100_000, 10_000), 79_998);
    }

    /// On a path of 100 ms, half of 80000.
    #[test]
    fn a_dip_stays_shallow_if_it_finds_what_was_known_and_becomes_deep_if_not() {
        for (found_us, offered) in [(105_000, 40_000), (150_000, 10_000), (80_000, 10_000)] {
            let mut course = dipping();
            course.drwa.min_rtt_us[1] = 100_000;
            course.round(200_000, 80_000);
            course.round(200_000, 80_000);
            course.view.now_us = 10_000_001;
            assert_eq!(course.round(200_000, 80_000), 30_000);
            course.view.now_us += 250_000;
            assert_eq!(course.round(found_us, 30_000), offered);
        }
    }

    #[test]
    fn who_has_seen_the_least_round_trip_time_leaves_a_dip_out_but_not_the_first_one() {
        let mut course = dipping();
        course.round(100_000, 80_000);
        for (second, dips) in [(10, true), (20, false), (30, false), (40, true)] {
            course.view.now_us = second * 1_000_000 - 2_000_000;
            course.round(if second < 40 { 105_000 } else { 200_000 }, 80_000);
            course.view.now_us = second * 1_000_000 + 1;
            course.round(200_000, 80_000);
            assert_eq!(course.drwa.dip_end_us != 0, dips, "{second} s");
            for _ in 0..2 {
                course.view.now_us += 1_000_000;
                course.round(100_000, 30_000);
            }
        }
    }

    #[test]
    fn a_sender_that_leaves_a_quarter_of_what_it_is_offered_is_offered_more() {
        let mut course = Course::new(Params {
            lambda_eighths: 16,
            ..Params::default()
        });
        for _ in 0..100 {
            course.round(100_000, 40_000);
        }
        assert_eq!(course.round(100_000, 40_000), 120_000);
        for _ in 0..100 {
            let offered = u64::from(course.drwa.window());
            course.round(200_000, offered);
        }
        assert!(course.drwa.filled > FILLED);
    }

    #[test]
    fn two_dips_forget_a_path_that_was_shorter() {
        let mut course = dipping();
        course.round(50_000, 80_000);
        for second in [10, 11, 20, 21, 30, 31] {
            course.view.now_us = second * 1_000_000 + 1;
            course.round(100_000, 80_000);
        }
        assert_eq!(course.drwa.least_us(), 100_000);
    }
}
