//! Windows of a flow to evidence: how long a delay stood, and what the path carried meanwhile.

use super::delays::{Delays, target};
use super::levels::{LEAST_SPANS, step_us};
use super::ranks::rank_correlation;
use super::recorder::Recorder;
use super::wait::{Wait, WaitFound};
use super::window::{Series, WINDOW, Window};
use crate::standing::Load;
use std::ops::RangeInclusive;
use unbloat_stats::quantile;
use unbloat_units::{Both, Delta, Direction};

/// What is known of the flow besides its windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Smallest round trip over both sides, as far as they were seen.
    pub(crate) rtt_floor: Option<Delta>,
    /// The handshake was seen, so the flow's first packets are among the samples.
    pub(crate) is_begin_seen: bool,
    /// There are no more samples: what a sample says holds for all windows that it lasted.
    pub(crate) is_once_a_round_trip: bool,
    pub(crate) is_over: bool,
    /// Also where nothing can follow from it.
    pub(crate) is_told_always: bool,
}

/// Evidence of one series of delays over a minute at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Evidence {
    pub(crate) series: Series,
    /// First and last window.
    pub(crate) span: (u32, u32),
    /// A window whose least delay is above this over the floor does not count as low.
    pub(crate) target: Delta,
    pub(crate) is_floor_seen: bool,
    pub(crate) samples: u64,
    pub(crate) sharp: u64,
    pub(crate) windows: u32,
    pub(crate) low: u32,
    pub(crate) standing: Option<Standing>,
    /// Delays that hosts and radios made.
    pub(crate) waits: [WaitFound; Wait::COUNT],
    /// The largest step from one level of the least delays to another.
    pub(crate) step: Option<Delta>,
    /// What the path carried in the direction of the data, and against it.
    pub(crate) ahead: Carrying,
    pub(crate) back: Carrying,
}

/// A delay that stood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    pub(crate) windows: u32,
    /// First and last window of all runs, and how many windows the longest run spans.
    pub(crate) span: (u32, u32),
    pub(crate) longest: u32,
    /// The largest delay that stood for [`Judged::SUSTAINED`].
    pub(crate) sustained_ms: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    /// Interquartile range of the windows' delays.
    pub(crate) iqr_ms: f64,
    /// Runs that a low window followed.
    pub(crate) falls: u32,
    /// Low windows before the first of them.
    pub(crate) low_before: u32,
    /// Share of them on levels: two seconds or more in which the delay did not move.
    pub(crate) level_share: f64,
    /// Of the same windows' delay before the capture point, the median.
    pub(crate) before_ms: Option<f64>,
}

/// What a direction carried, of the flow and of all flows of its user.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Carrying {
    /// The 80th percentile of windows that carried anything.
    pub(crate) peak_bps: Option<f64>,
    /// Medians over the windows in which the delay stood.
    pub(crate) standing_bps: Option<f64>,
    pub(crate) own_standing_bps: Option<f64>,
    pub(crate) in_flight_bytes: Option<f64>,
    pub(crate) own_in_flight_bytes: Option<f64>,
    /// Medians over low windows, and over those before the delay first stood.
    pub(crate) low_in_flight_bytes: Option<f64>,
    pub(crate) low_bps: Option<f64>,
    pub(crate) before_bps: Option<f64>,
    /// Of the standing windows' bytes, the 25th percentile over the 75th: near one where a full link
    /// sets the pace.
    pub(crate) steadiness: Option<f64>,
    /// Rank correlation of the user's bytes in flight with the delay.
    pub(crate) coupling: Option<f64>,
    pub(crate) lost: u64,
    /// Windows with at least half of the peak.
    pub(crate) busy: u32,
    /// Low windows among them.
    pub(crate) busy_low: u32,
}

/// Evidence of all series with samples. Takes the recorder's windows.
pub(crate) fn evidence(recorder: &mut Recorder, facts: &Facts, load: &Load) -> Vec<Evidence> {
    let windows = recorder.take(facts.is_over, load);
    let found = match !facts.is_told_always && is_silent(recorder, facts, &windows) {
        true => Vec::new(),
        false => evidence_of(recorder, facts, &windows),
    };
    if !facts.is_over {
        recorder.keep_floors(&windows);
    }
    found
}

fn evidence_of(recorder: &Recorder, facts: &Facts, windows: &[Window]) -> Vec<Evidence> {
    let ticks = recorder.ticks();
    let legs = match ticks {
        Some(_) => Both::of(|side| recorder.delays(Series::OneWay(side), windows)),
        None => Both::default(),
    };
    let loads = Both::of(|side| Carried::of(windows, side));
    let mut found = Vec::new();
    for series in Series::ALL {
        let resolution = match (series, ticks) {
            (Series::Loop(_), _) => Delta::ZERO,
            (Series::Path(_), Some(Both { down, up })) => down + up,
            (Series::OneWay(side), Some(ticks)) => ticks[side],
            (_, None) => continue,
        };
        let waits = recorder.waits(series);
        let is_measured = windows.iter().any(|w| w.cell(series).samples > 0);
        if !is_measured && waits.iter().all(|wait| wait.samples == 0) {
            continue;
        }
        let target = target(facts.rtt_floor) + resolution;
        let own;
        let delays = match series {
            Series::OneWay(side) => &legs[side],
            Series::Path(side) => {
                let mut delays = recorder.delays(series, windows);
                raise(&mut delays, &legs[side], target);
                own = delays;
                &own
            }
            Series::Loop(_) => {
                own = recorder.delays(series, windows);
                &own
            }
        };
        let judged = Judged {
            series,
            windows,
            delays,
            loads,
            target,
            least_sharp: facts.least_sharp(),
        };
        let mut evidence = judged.evidence(facts, waits);
        if let (Series::Path(side), Some(evidence)) = (series, &mut evidence)
            && let Some(standing) = &mut evidence.standing
        {
            standing.before_ms = before_ms(windows, &legs[side], standing.span);
        }
        found.extend(evidence);
    }
    found
}

/// A flow with so many windows has evidence, whatever it shows: three seconds. The verdict must not need less load than this to call a direction free
/// of queues.
pub const ALWAYS_TOLD_WINDOWS: u64 = (Delta::secs(3).as_ns() / WINDOW.as_ns()) as u64;

/// Nothing can follow from the windows, as of most flows, which are over too soon: no delay can stand or have levels, and nothing made packets
/// late.
fn is_silent(recorder: &Recorder, facts: &Facts, windows: &[Window]) -> bool {
    let is_late = |series| recorder.waits(series).iter().any(|wait| wait.samples > 0);
    (windows.len() as u64) < ALWAYS_TOLD_WINDOWS
        && !Series::ALL.into_iter().any(|series| {
            can_stand(series, facts, windows) || can_step(series, windows) || is_late(series)
        })
}

/// Whether there may be a run that [`Judged::runs`] keeps. Samples of the leg before the capture point count for the path ([`raise`]).
fn can_stand(series: Series, facts: &Facts, windows: &[Window]) -> bool {
    let sharp = |window: &Window| match series {
        Series::Path(side) => {
            let leg = window.cell(Series::OneWay(side)).samples;
            window.cell(series).sharp.max(leg)
        }
        _ => window.cell(series).sharp,
    };
    let least = facts.least_sharp();
    let able = windows.iter().filter(|window| sharp(window) >= least);
    let count = able.clone().count() as u32;
    let sum: u32 = able.map(|window| u32::from(sharp(window))).sum();
    count >= Judged::LEAST_WINDOWS && sum >= Judged::LEAST_SHARP
}

/// Whether there may be two levels ([`step_us`]), which only paths have.
fn can_step(series: Series, windows: &[Window]) -> bool {
    let seen = windows.iter().filter(|w| w.cell(series).samples > 0);
    matches!(series, Series::Path(_)) && seen.count() >= 2 * LEAST_SPANS
}

impl Facts {
    /// With fewer samples that convict, a window says nothing.
    fn least_sharp(&self) -> u16 {
        match self.is_once_a_round_trip {
            true => 1,
            false => 2,
        }
    }
}

/// What a direction carried, whatever delays are looked at.
#[derive(Clone, Copy)]
struct Carried {
    /// Of windows that carried anything of the user's, the bytes above which are bursts that senders put in front of the queue at once.
    peak_bytes: Option<f64>,
    busy: u32,
    lost: u64,
}

impl Carried {
    const PEAK: f64 = 0.8;

    fn of(windows: &[Window], side: Direction) -> Carried {
        let bytes = windows.iter().map(|w| w.carried[side].user_bytes);
        let carried = bytes.clone().filter(|&n| n > 0).map(f64::from);
        let mut carried: Vec<f64> = carried.collect();
        let mut found = Carried {
            peak_bytes: quantile(&mut carried, Self::PEAK),
            busy: 0,
            lost: windows
                .iter()
                .map(|w| u64::from(w.carried[side].lost))
                .sum(),
        };
        found.busy = bytes.filter(|&n| found.is_busy(n)).count() as u32;
        found
    }

    fn is_busy(&self, bytes: u32) -> bool {
        self.peak_bytes
            .is_some_and(|peak| f64::from(bytes) >= peak / 2.0)
    }
}

/// What waited before the capture point waited on the path, and no host held it: it raises what the path
/// delays are at least. Beyond what they are at most it is the capture's clock that moved.
fn raise(paths: &mut [Delays], legs: &[Delays], target: Delta) {
    for (path, before) in paths.iter_mut().zip(legs) {
        let is_possible = before.upper <= path.upper.saturating_add(target.as_us());
        if path.samples == 0 || before.samples == 0 || !is_possible {
            continue;
        }
        if path.sharp == 0 || before.upper > path.lower {
            path.lower = before.upper.min(path.upper);
            path.sharp = path.sharp.max(before.samples);
        }
    }
}

/// One series of a block of windows.
struct Judged<'a> {
    series: Series,
    windows: &'a [Window],
    delays: &'a [Delays],
    loads: Both<Carried>,
    target: Delta,
    /// With fewer samples that convict, a window says nothing.
    least_sharp: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was measured, or nothing that says which.
    Unknown,
    Low,
    Standing,
}

/// Consecutive windows without a low one.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    first: usize,
    last: usize,
    standing: u32,
    sharp: u32,
    is_ended_by_low: bool,
}

impl Judged<'_> {
    /// A run is a standing queue only from here on: more than a burst or a pause of the radio.
    const LEAST_SPAN: Delta = Delta::secs(1);
    const LEAST_WINDOWS: u32 = 3;
    /// How long a delay stands before it counts, in windows: a second. Where samples are few, a longer span shows what a second does not.
    const SUSTAINED: RangeInclusive<u32> = 4..=6;
    /// HyStart++ wants eight samples before it takes a minimum for one (RFC 9406, N_RTT_SAMPLE).
    const LEAST_SHARP: u32 = 8;
    /// A run goes on over a silence of this many windows.
    const BRIDGED: u32 = 4;

    /// `None` if nothing was measured, neither here nor of the hosts' own waits.
    fn evidence(&self, facts: &Facts, waits: [WaitFound; Wait::COUNT]) -> Option<Evidence> {
        let seen: Vec<usize> = (0..self.windows.len())
            .filter(|&at| self.delays[at].samples > 0)
            .collect();
        if seen.is_empty() && waits.iter().all(|wait| wait.samples == 0) {
            return None;
        }
        let first = seen.first().copied().unwrap_or(0);
        let last = seen
            .last()
            .copied()
            .unwrap_or(self.windows.len().checked_sub(1)?);
        let span = (self.windows[first].index, self.windows[last].index);
        let states: Vec<State> = self.delays.iter().map(|d| self.state(d)).collect();
        let low: Vec<usize> = (0..states.len())
            .filter(|&at| states[at] == State::Low)
            .collect();
        let runs = self.runs(&states);
        let stood = self.stood(&states, &runs);
        let sum =
            |of: fn(&Delays) -> u16| seen.iter().map(|&at| u64::from(of(&self.delays[at]))).sum();
        Some(Evidence {
            series: self.series,
            span,
            target: self.target,
            is_floor_seen: facts.is_begin_seen,
            samples: sum(|d| d.samples),
            sharp: sum(|d| d.sharp),
            windows: seen.len() as u32,
            low: low.len() as u32,
            standing: self.standing(&states, &runs, &stood),
            waits: self.told(waits, &states, seen.len()),
            step: self.step(),
            ahead: self.carrying(self.series.side(), &low, &stood),
            back: self.carrying(self.series.side().reverse(), &low, &stood),
        })
    }

    /// What stands most of the time is a queue, whatever else its late samples look like. Jitter stands now and then where
    /// samples are few, but comes back to a quarter of its median; queues do in hardly any window.
    fn told(
        &self,
        mut waits: [WaitFound; Wait::COUNT],
        states: &[State],
        seen: usize,
    ) -> [WaitFound; Wait::COUNT] {
        let standing = states.iter().filter(|s| **s == State::Standing).count();
        let is_standing = 4 * standing >= 3 * seen;
        let median_ms = waits[Wait::Jitter as usize].median_ms.unwrap_or_default();
        let low_us = (median_ms * 1e3 / 4.0).max(self.target.as_us() as f64);
        let is_low = |d: &&Delays| d.samples > 0 && d.upper as f64 <= low_us;
        let is_low = 20 * self.delays.iter().filter(is_low).count() >= seen;
        for wait in [Wait::Wake, Wait::PowerSave, Wait::DelayedAck, Wait::Jitter] {
            let is_queue = match wait {
                Wait::Jitter => !is_low,
                _ => is_standing,
            };
            if is_queue {
                waits[wait as usize] = WaitFound::default();
            }
        }
        waits
    }

    /// Of the path's own delays: a capture clock that is set moves those that it measures, and a round trip holds both
    /// directions and their hosts.
    fn step(&self) -> Option<Delta> {
        let step = || step_us(self.windows, self.delays, self.target);
        matches!(self.series, Series::Path(_))
            .then(step)?
            .map(Delta::us)
    }

    fn state(&self, delays: &Delays) -> State {
        let target = self.target.as_us();
        if delays.samples == 0 {
            State::Unknown
        } else if delays.upper <= target {
            State::Low
        } else if delays.sharp >= self.least_sharp && delays.lower > target {
            State::Standing
        } else {
            State::Unknown
        }
    }

    fn runs(&self, states: &[State]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut open: Option<Run> = None;
        for (at, state) in states.iter().enumerate() {
            match state {
                State::Unknown => {}
                State::Low => {
                    runs.extend(open.take().map(|run| Run {
                        is_ended_by_low: true,
                        ..run
                    }));
                }
                State::Standing => {
                    let index = self.windows[at].index;
                    let is_far = |run: &Run| index - self.windows[run.last].index > Self::BRIDGED;
                    if open.as_ref().is_some_and(is_far) {
                        runs.extend(open.take());
                    }
                    let run = open.get_or_insert(Run {
                        first: at,
                        ..Run::default()
                    });
                    run.last = at;
                    run.standing += 1;
                    run.sharp += u32::from(self.delays[at].sharp);
                }
            }
        }
        runs.extend(open);
        runs.retain(|run| {
            self.length(run) as i64 * WINDOW.as_ns() >= Self::LEAST_SPAN.as_ns()
                && run.standing >= Self::LEAST_WINDOWS
                && run.sharp >= Self::LEAST_SHARP
        });
        runs
    }

    /// Windows of the grid from its first to its last.
    fn length(&self, run: &Run) -> u32 {
        self.windows[run.last].index - self.windows[run.first].index + 1
    }

    /// Places of the windows that stand in a run.
    fn stood(&self, states: &[State], runs: &[Run]) -> Vec<usize> {
        let within = runs.iter().flat_map(|run| run.first..=run.last);
        within.filter(|&at| states[at] == State::Standing).collect()
    }

    fn delay_ms(&self, at: usize) -> f64 {
        self.delays[at].lower as f64 / 1e3
    }

    fn standing(&self, states: &[State], runs: &[Run], stood: &[usize]) -> Option<Standing> {
        let mut delays: Vec<f64> = stood.iter().map(|&at| self.delay_ms(at)).collect();
        let mut at = |q| quantile(&mut delays, q);
        let (p25, p50, p75, p95) = (at(0.25)?, at(0.5)?, at(0.75)?, at(0.95)?);
        Some(Standing {
            windows: stood.len() as u32,
            span: (
                self.windows[stood[0]].index,
                self.windows[*stood.last()?].index,
            ),
            longest: runs.iter().map(|run| self.length(run)).max()?,
            sustained_ms: self.sustained_ms(stood),
            p50_ms: p50,
            p95_ms: p95,
            iqr_ms: p75 - p25,
            falls: runs.iter().filter(|run| run.is_ended_by_low).count() as u32,
            low_before: lows(&states[..stood[0]]),
            level_share: self.level_share(stood),
            before_ms: None,
        })
    }

    /// Over spans of that length within runs, the most of the least delay in each.
    fn sustained_ms(&self, stood: &[usize]) -> f64 {
        let spans = (0..stood.len()).flat_map(|i| Self::SUSTAINED.map(move |length| (i, length)));
        let least = |(i, length): (usize, u32)| {
            let end = self.windows[stood[i]].index + length;
            let span = stood[i..]
                .iter()
                .take_while(|&&at| self.windows[at].index < end);
            let span: Vec<usize> = span.copied().collect();
            let is_whole = span.len() as u32 >= Self::LEAST_WINDOWS
                && self.windows[*span.last()?].index + 1 == end;
            let delays = span.iter().map(|&at| self.delay_ms(at));
            delays.min_by(f64::total_cmp).filter(|_| is_whole)
        };
        let sustained = spans.filter_map(least).max_by(f64::total_cmp);
        sustained.unwrap_or_default()
    }

    /// A queue drains or grows; what stays within the clocks' resolution for two seconds is a longer way.
    fn level_share(&self, stood: &[usize]) -> f64 {
        let tolerance_ms = self.target.as_ms() / 2.0;
        let level = (2 * Self::LEAST_SPAN.as_ns() / WINDOW.as_ns()) as usize;
        let (mut on_levels, mut from) = (0, 0);
        while from < stood.len() {
            let first = self.delay_ms(stood[from]);
            let is_same = |&&at: &&usize| (self.delay_ms(at) - first).abs() <= tolerance_ms;
            let length = stood[from..].iter().take_while(is_same).count();
            on_levels += if length >= level { length } else { 0 };
            from += length.max(1);
        }
        on_levels as f64 / stood.len().max(1) as f64
    }

    /// Over the windows at the places `low` and `stood`.
    fn carrying(&self, side: Direction, low: &[usize], stood: &[usize]) -> Carrying {
        let load = &self.loads[side];
        let of = |at: usize| &self.windows[at].carried[side];
        let rate = |bytes: f64| bytes * 8.0 / WINDOW.as_secs();
        let mut values: Vec<f64> = Vec::with_capacity(low.len().max(stood.len()));
        let mut median = |places: &[usize], what: &dyn Fn(usize) -> u32| {
            values.clear();
            values.extend(places.iter().map(|&at| f64::from(what(at))));
            quantile(&mut values, 0.5)
        };
        let low_bytes = median(low, &|at| of(at).user_bytes);
        let carrying = Carrying {
            peak_bps: load.peak_bytes.map(rate),
            low_in_flight_bytes: median(low, &|at| of(at).user_in_flight),
            low_bps: low_bytes.map(rate),
            before_bps: low_bytes.map(rate),
            coupling: self.coupling(side),
            lost: load.lost,
            busy: load.busy,
            busy_low: low
                .iter()
                .filter(|&&at| load.is_busy(of(at).user_bytes))
                .count() as u32,
            ..Carrying::default()
        };
        let Some(&onset) = stood.first() else {
            return carrying;
        };
        let before = &low[..low.partition_point(|&at| at < onset)];
        Carrying {
            standing_bps: median(stood, &|at| of(at).user_bytes).map(rate),
            own_standing_bps: median(stood, &|at| of(at).own_bytes).map(rate),
            in_flight_bytes: median(stood, &|at| of(at).user_in_flight),
            own_in_flight_bytes: median(stood, &|at| of(at).own_in_flight),
            before_bps: median(before, &|at| of(at).user_bytes).map(rate),
            steadiness: quartile_ratio(stood.iter().map(|&at| f64::from(of(at).user_bytes))),
            ..carrying
        }
    }

    /// How the delay follows the user's bytes in flight.
    fn coupling(&self, side: Direction) -> Option<f64> {
        const LEAST: usize = 8;
        let carried = self.windows.iter().map(|w| w.carried[side].user_in_flight);
        let pairs = carried.zip(self.delays);
        let pairs = pairs.filter(|(in_flight, delays)| delays.samples > 0 && *in_flight > 0);
        if self.windows.len() < LEAST || pairs.clone().count() < LEAST {
            return None;
        }
        let pairs = pairs.map(|(in_flight, delays)| (f64::from(in_flight), delays.upper as f64));
        rank_correlation(&pairs.collect::<Vec<_>>())
    }
}

fn lows(states: &[State]) -> u32 {
    states.iter().filter(|state| **state == State::Low).count() as u32
}

/// The 25th percentile over the 75th.
fn quartile_ratio(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    let (low, high) = (quantile(&mut values, 0.25)?, quantile(&mut values, 0.75)?);
    (high > 0.0).then(|| low / high)
}

/// Median delay of the leg before the capture point while the path's delay stood.
fn before_ms(windows: &[Window], before: &[Delays], span: (u32, u32)) -> Option<f64> {
    let within = windows.iter().zip(before);
    let within = within.filter(|(w, d)| (span.0..=span.1).contains(&w.index) && d.samples > 0);
    let delays = within.map(|(_, delays)| delays.upper as f64 / 1e3);
    quantile(&mut delays.collect::<Vec<f64>>(), 0.5)
}
