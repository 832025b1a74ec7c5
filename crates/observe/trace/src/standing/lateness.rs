//! Late samples of one series of delays: what made them, by how they are spread and by what went before.
//!
//! | kind | late samples are |
//! |---|---|
//! | delayed ACK | acknowledgments of one segment, all late by the same: a timer (RFC 1122 §4.2.3.2) |
//! | power save | on a grid of 102.4 ms, the beacons of Wi-Fi, by Rayleigh's test |
//! | wake-up | those after silence, while others are not late |
//! | jitter | now this, now that: what comes next does not depend on what was before |
//! | hold | a pause of the arrivals, and then all that was sent meanwhile |
//!
//! A queue is none of these: what waits in it waits about as long as what came before it, after silence or not.
//! Von Neumann's ratio (Annals of Mathematical Statistics 12, 1941) tells the two apart: mean square of successive
//! differences over twice the variance, one where samples are independent, near zero where they follow each other.

use super::wait::{Wait, WaitFound};
use std::f64::consts::TAU;
use unbloat_stats::LogHistogram;
use unbloat_units::{Delta, Time};

/// A delay as it was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: Time,
    /// Above the least so far.
    pub(super) added: Delta,
    /// What is no more above it is not late.
    pub(super) target: Delta,
    /// Since the sample before this one, if there was one.
    pub(super) pause: Option<Delta>,
    /// How long the flow was silent before the delayed packet set out.
    pub(super) silence: Delta,
    /// An acknowledgment that the host may have held back.
    pub(super) is_holdable: bool,
    /// The user has no more on the way than an idle path takes at once.
    pub(super) is_light: bool,
}

impl Sample {
    pub(super) fn is_late(&self) -> bool {
        self.added > self.target
    }
}

/// What is kept of a series since its first late sample.
#[derive(Clone, Default)]
pub(super) struct Lateness {
    hold: Hold,
    last: Option<(Time, f64)>,
    samples: u32,
    silent: u32,
    /// Of all samples.
    sum: f64,
    sum_of_squares: f64,
    pairs: u32,
    squared_steps: f64,
    late: LogHistogram,
    /// Those after silence, and those as late as a radio's connection takes that was given up.
    woken: LogHistogram,
    promoted: LogHistogram,
    holdable: u32,
    /// Acknowledgments that no timer holds: those that are not late.
    prompt: u32,
    tardy: u32,
    /// Sums of cosines and sines of the arrivals' phases in the period of beacons.
    phase: [f64; 2],
}

impl Lateness {
    /// A burst is one sample.
    const APART: Delta = Delta::ms(10);
    /// Samples farther from each other are not compared.
    const NEAR: Delta = Delta::secs(1);
    /// LTE's inactivity timers of discontinuous reception are set to 100 or 200 ms, Wi-Fi's are not shorter.
    const SILENCE: Delta = Delta::ms(100);
    /// Connections are given up after seconds, and taken up again in 260 ms (LTE: Huang and others, MobiSys 2012)
    /// and more.
    const GIVEN_UP: Delta = Delta::secs(1);
    /// No stack delays acknowledgments longer: Linux's TCP_DELACK_MAX and Windows' 200 ms, and a tick.
    pub(super) const LONGEST_HOLD: Delta = Delta::ms(250);
    /// Windows', Linux's and the BSDs' timers are of 40 ms and more.
    const SHORTEST_TIMER: Delta = Delta::ms(25);
    /// 100 time units of 1,024 us: the interval between beacons that access points are shipped with.
    const BEACONS_US: i64 = 102_400;
    /// Rayleigh's test: of this many random phases one set in 2,000 is as much aligned.
    const LEAST_PHASES: u64 = 12;
    const ALIGNED: f64 = 0.8;
    /// Fewer late samples are chance.
    const LEAST: u64 = 3;
    const LEAST_JITTER: u64 = 10;
    const LEAST_TIMED: u64 = 8;
    const LEAST_PAIRS: u32 = 8;
    const INDEPENDENT: f64 = 0.5;
    /// Standard deviation of all samples over the median of late ones.
    const SPREAD: f64 = 0.2;
    /// Interquartile range over median, of a timer; and what a timer's own tick makes of it.
    const TIMED: f64 = 0.1;
    const TIMER_TICK_US: f64 = 8e3;

    pub(super) fn add(&mut self, sample: &Sample) {
        self.hold.add(sample);
        let since = self.last.map(|(at, _)| sample.now.since_bounded(at));
        if !sample.is_light || since.is_some_and(|since| since < Self::APART) {
            return;
        }
        let us = sample.added.min(Self::LONGEST_HOLD).as_us() as f64;
        if let Some((at, before)) = self.last.replace((sample.now, us))
            && sample.now.since_bounded(at) <= Self::NEAR
        {
            self.pairs += 1;
            self.squared_steps += (us - before).powi(2);
        }
        self.samples += 1;
        self.sum += us;
        self.sum_of_squares += us * us;
        let is_silent = sample.silence >= Self::SILENCE;
        self.silent += u32::from(is_silent);
        match (sample.is_late(), sample.is_holdable) {
            (true, true) => self.holdable += 1,
            (true, false) => self.tardy += 1,
            (false, false) => self.prompt += 1,
            (false, true) => {}
        }
        if sample.is_late() {
            self.add_late(sample, is_silent);
        }
    }

    fn add_late(&mut self, sample: &Sample, is_silent: bool) {
        let us = sample.added.as_us() as f64;
        self.late.record(us);
        if is_silent {
            self.woken.record(us);
        }
        if sample.added >= Self::LONGEST_HOLD && sample.silence >= Self::GIVEN_UP {
            self.promoted.record(us);
        }
        let arrival = sample.now.as_ns() / 1_000 % Self::BEACONS_US;
        let angle = TAU * arrival as f64 / Self::BEACONS_US as f64;
        self.phase[0] += angle.cos();
        self.phase[1] += angle.sin();
    }

    /// What made samples late, by kind.
    pub(super) fn found(&self) -> [WaitFound; Wait::COUNT] {
        let mut found: [WaitFound; Wait::COUNT] = Default::default();
        if let Some((wait, of)) = self.kind() {
            found[wait as usize] = WaitFound::of(of);
        }
        found[Wait::Hold as usize] = self.hold.found();
        found
    }

    fn kind(&self) -> Option<(Wait, &LogHistogram)> {
        let late = self.late.count();
        if late < Self::LEAST {
            return None;
        }
        if self.promoted.count() >= Self::LEAST && 2 * self.promoted.count() >= self.woken.count() {
            return Some((Wait::Wake, &self.promoted));
        }
        if self.is_timer() {
            return Some((Wait::DelayedAck, &self.late));
        }
        if self.is_on_beacons() {
            return Some((Wait::PowerSave, &self.late));
        }
        if self.is_wake() {
            return Some((Wait::Wake, &self.woken));
        }
        let is_often = late >= Self::LEAST_JITTER && 10 * late >= u64::from(self.samples);
        let is_jitter = is_often && self.is_independent();
        is_jitter.then_some((Wait::Jitter, &self.late))
    }

    /// Acknowledgments that may be held are late by the same, and others are not late.
    fn is_timer(&self) -> bool {
        let quantile = |q| self.late.quantile(q).unwrap_or_default();
        let spread = quantile(0.75) - quantile(0.25);
        let is_timed = spread <= (Self::TIMED * quantile(0.5)).max(Self::TIMER_TICK_US);
        let is_timer = (Self::SHORTEST_TIMER.as_us() as f64..Self::LONGEST_HOLD.as_us() as f64)
            .contains(&quantile(0.5));
        let n = self.late.count();
        let is_often = n >= Self::LEAST_TIMED && 10 * n >= u64::from(self.samples);
        let is_held = u64::from(self.holdable) * 5 >= self.late.count() * 4;
        is_timed && is_timer && is_often && is_held && self.tardy <= self.prompt
    }

    fn is_on_beacons(&self) -> bool {
        let [x, y] = self.phase;
        let n = self.late.count();
        n >= Self::LEAST_PHASES && x.hypot(y) / n as f64 >= Self::ALIGNED
    }

    fn is_wake(&self) -> bool {
        let (late, woken) = (self.late.count(), self.woken.count());
        let busy = u64::from(self.samples - self.silent);
        if woken < Self::LEAST {
            return false;
        }
        let of_silent = woken as f64 / f64::from(self.silent);
        let of_busy = (late - woken) as f64 / busy.max(1) as f64;
        let is_contrast = busy >= 5 && 4.0 * of_busy <= of_silent;
        let is_alone = u64::from(self.silent) >= 4 * busy || 2.0 * of_busy <= of_silent;
        is_contrast || is_alone && self.is_independent()
    }

    /// Samples differ, which those after a step of the path or of a clock do not, and by von Neumann's ratio none depends
    /// on the one before.
    fn is_independent(&self) -> bool {
        let n = f64::from(self.samples);
        let variance = self.sum_of_squares / n - (self.sum / n).powi(2);
        let steps = self.squared_steps / f64::from(self.pairs.max(1));
        let usual = self.late.quantile(0.5).unwrap_or_default();
        let usual = usual.min(Self::LONGEST_HOLD.as_us() as f64);
        self.pairs >= Self::LEAST_PAIRS
            && variance.sqrt() >= Self::SPREAD * usual
            && steps >= Self::INDEPENDENT * 2.0 * variance
    }
}

/// Pauses after which everything comes at once: an outage, a handover, a repeat of the link.
#[derive(Clone, Copy, Default)]
struct Hold {
    /// How late the sample before was.
    before: Delta,
    /// One that is not over: since when, and how long it held.
    open: Option<(Time, Delta)>,
    held: u32,
    longest: Delta,
}

impl Hold {
    const LEAST: Delta = Delta::ms(200);
    /// Within this and its own length the delay is low again.
    const OVER: Delta = Delta::secs(1);

    fn add(&mut self, sample: &Sample) {
        let before = std::mem::replace(&mut self.before, sample.added);
        if let Some((since, added)) = self.open {
            let lasts = sample.now.since_bounded(since);
            if lasts > added + Self::OVER {
                self.open = None;
            } else if !sample.is_late() {
                self.open = None;
                self.held += 1;
                self.longest = self.longest.max(added);
            }
        }
        // Most of the pause is in the delay: packets were on their way, and nobody was silent.
        let is_held = |pause: Delta| pause >= Self::LEAST && sample.added * 5 >= pause * 4;
        if sample.added >= Self::LEAST.max(before * 4) && sample.pause.is_some_and(is_held) {
            self.open = Some((sample.now, sample.added));
        }
    }

    fn found(&self) -> WaitFound {
        WaitFound {
            samples: self.held,
            median_ms: (self.held > 0).then(|| self.longest.as_ms()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: i64, added_ms: i64) -> Sample {
        Sample {
            now: Time::default() + Delta::ms(at_ms),
            added: Delta::ms(added_ms),
            target: Delta::ms(8),
            pause: None,
            silence: Delta::ZERO,
            is_holdable: false,
            is_light: true,
        }
    }

    /// Numbers from 0 to 99 in no order.
    fn random(n: i64) -> i64 {
        (n * 7_919 + n * n * 104_729 + 37) % 9_973 * 100 / 9_973
    }

    fn kind(samples: impl Iterator<Item = Sample>) -> Option<Wait> {
        let mut lateness = Lateness::default();
        let mut last = None;
        for sample in samples {
            let pause = last
                .replace(sample.now)
                .map(|at| sample.now.since_bounded(at));
            lateness.add(&Sample { pause, ..sample });
        }
        let found = lateness.found();
        let kinds = [
            Wait::Wake,
            Wait::PowerSave,
            Wait::DelayedAck,
            Wait::Hold,
            Wait::Jitter,
        ];
        kinds
            .into_iter()
            .find(|&kind| found[kind as usize].samples > 0)
    }

    #[test]
    fn acknowledgments_that_are_late_by_the_same_are_held_by_a_timer() {
        let acks = (0..30).map(|n| Sample {
            is_holdable: true,
            silence: Delta::ms(200),
            ..sample(n * 300, 40 + n % 4)
        });
        assert_eq!(kind(acks), Some(Wait::DelayedAck));
    }

    #[test]
    fn what_delays_all_packets_by_the_same_is_no_timer() {
        let both = (0..60).map(|n| Sample {
            is_holdable: n % 2 == 0,
            ..sample(n * 300, 40 + n % 4)
        });
        assert_eq!(kind(both), None);
    }

    #[test]
    fn late_after_silence_alone_is_a_wake_up() {
        let pages = (0..60).map(|n| match n % 3 {
            0 => Sample {
                silence: Delta::ms(600),
                ..sample(n * 300, 20 + random(n))
            },
            _ => sample(n * 300 + 20 * (n % 3), 1),
        });
        assert_eq!(kind(pages), Some(Wait::Wake));
        let promotions = (0..20).map(|n| match n % 5 {
            0 => Sample {
                silence: Delta::secs(4),
                ..sample(n * 1_000, 260)
            },
            _ => sample(n * 1_000, 0),
        });
        assert_eq!(kind(promotions), Some(Wait::Wake));
    }

    #[test]
    fn arrivals_on_a_grid_of_beacons_save_power() {
        let beacon = |n: i64| (n * 1_024 + 9) / 10;
        let pushes = (1..40).map(|n| {
            let at = beacon(5 * n + random(n) / 30);
            Sample {
                silence: Delta::ms(300),
                ..sample(at, 10 + random(n) * 9 / 10)
            }
        });
        assert_eq!(kind(pushes), Some(Wait::PowerSave));
        let others = (1..40).map(|n| Sample {
            silence: Delta::ms(300),
            ..sample(500 * n + random(n), 10 + random(n) * 9 / 10)
        });
        assert_eq!(kind(others), Some(Wait::Wake));
    }

    #[test]
    fn delays_that_do_not_depend_on_what_came_before_are_jitter() {
        assert_eq!(
            kind((0..99).map(|n| sample(n * 30, random(n)))),
            Some(Wait::Jitter)
        );
    }

    #[test]
    fn a_sparse_flow_through_a_queue_that_stands_names_nothing() {
        // A sawtooth of five seconds from 140 to 200 ms; the flow is silent between its packets, or not.
        let sawtooth = |at_ms: i64| 140 + at_ms % 5_000 * 60 / 5_000;
        for silence in [Delta::ZERO, Delta::ms(250)] {
            for is_holdable in [false, true] {
                let queued = (0..100).map(|n| Sample {
                    silence,
                    is_holdable,
                    ..sample(n * 300, if n < 10 { 0 } else { sawtooth(n * 300) })
                });
                assert_eq!(kind(queued), None, "{silence} {is_holdable}");
            }
        }
    }

    #[test]
    fn a_pause_after_which_all_comes_at_once_was_held() {
        let stream = |held: bool| {
            (0..300).map(move |n: i64| {
                // The path pauses from 2 to 3.5 s; else what fills it grows for as long.
                let (sent, pause_ends) = (n * 20, 3_500);
                let is_within = (2_000..pause_ends).contains(&sent);
                match (is_within, held) {
                    (true, true) => sample(pause_ends, pause_ends - sent),
                    (true, false) => sample(2 * sent - 2_000, sent - 2_000),
                    _ => sample(sent + if held { 0 } else { 1_500 }, 0),
                }
            })
        };
        assert_eq!(kind(stream(true)), Some(Wait::Hold));
        assert_eq!(kind(stream(false)), None);
    }
}
