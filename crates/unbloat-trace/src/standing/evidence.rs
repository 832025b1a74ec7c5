//! Windows of a flow to evidence: how long a delay stood, and what the path carried meanwhile.

use super::ranks::{quantile, rank_correlation};
use super::recorder::Recorder;
use super::window::{Series, WINDOW, Window};
use crate::tcp::Side;
use crate::user::load::Load;
use unbloat_units::Delta;

/// What is known of the flow besides its windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Smallest round trip over both sides, as far as they were seen.
    pub(crate) rtt_floor: Option<Delta>,
    /// The handshake was seen, so the flow's first packets are among the samples.
    pub(crate) is_begin_seen: bool,
    pub(crate) is_over: bool,
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
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    /// Interquartile range of the windows' delays.
    pub(crate) iqr_ms: f64,
    /// Runs that a low window followed.
    pub(crate) falls: u32,
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
    /// The same over low windows.
    pub(crate) low_in_flight_bytes: Option<f64>,
    pub(crate) low_bps: Option<f64>,
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
    let ticks = recorder.ticks();
    let windows = recorder.take(facts.is_over, load);
    let mut found = Vec::new();
    for series in Series::ALL {
        let resolution = match (series, ticks) {
            (Series::Loop(_), _) => Delta::ZERO,
            (Series::Path(_), Some([down, up])) => down + up,
            (Series::OneWay(side), Some(ticks)) => ticks[side.index()],
            (_, None) => continue,
        };
        let judged = Judged {
            series,
            windows: &windows,
            target: target(facts.rtt_floor) + resolution,
        };
        let floors = recorder.floors(series, &windows);
        found.extend(judged.evidence(&floors, facts));
    }
    for evidence in &mut found {
        if let (Series::Path(side), Some(standing)) = (evidence.series, &mut evidence.standing) {
            let floors = recorder.floors(Series::OneWay(side), &windows);
            standing.before_ms = before_ms(&windows, &floors, side, standing.span);
        }
    }
    recorder.keep_floors(&windows);
    found
}

/// RFC 8289 §4.4 has 5 ms; HyStart++ (RFC 9406 §4.2) an eighth of the round trip, from 4 to 16 ms.
fn target(rtt_floor: Option<Delta>) -> Delta {
    let eighth = rtt_floor.unwrap_or_default() / 8;
    eighth.max(Delta::ms(5)).min(Delta::ms(16))
}

/// One series of a block of windows.
struct Judged<'a> {
    series: Series,
    windows: &'a [Window],
    target: Delta,
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
    /// HyStart++ wants eight samples before it takes a minimum for one (RFC 9406, N_RTT_SAMPLE).
    const LEAST_SHARP: u32 = 8;
    /// Above this quantile of the windows are bursts that senders put in front of the queue at once.
    const PEAK: f64 = 0.8;
    /// A run goes on over a silence of this many windows.
    const BRIDGED: u32 = 4;

    fn evidence(&self, floors: &[i64], facts: &Facts) -> Option<Evidence> {
        let seen = || self.windows.iter().filter(|w| w.cell(self.series).samples > 0);
        let (first, last) = (seen().next()?, seen().next_back()?);
        let states = self.states(floors);
        let runs = self.runs(&states);
        let stood = self.stood(&states, &runs);
        let carrying = |side| self.carrying(side, floors, &states, &stood);
        Some(Evidence {
            series: self.series,
            span: (first.index, last.index),
            target: self.target,
            is_floor_seen: facts.is_begin_seen,
            samples: seen().map(|w| u64::from(w.cell(self.series).samples)).sum(),
            sharp: seen().map(|w| u64::from(w.cell(self.series).sharp)).sum(),
            windows: seen().count() as u32,
            low: states.iter().filter(|s| **s == State::Low).count() as u32,
            standing: self.standing(floors, &runs, &stood),
            ahead: carrying(self.series.side()),
            back: carrying(self.series.side().other()),
        })
    }

    fn states(&self, floors: &[i64]) -> Vec<State> {
        let target = self.target.as_us();
        let windows = self.windows.iter().zip(floors);
        let state = |(window, floor): (&Window, &i64)| {
            let cell = window.cell(self.series);
            if cell.samples == 0 {
                State::Unknown
            } else if i64::from(cell.upper) - floor <= target {
                State::Low
            } else if cell.sharp >= 2 && i64::from(cell.lower) - floor > target {
                State::Standing
            } else {
                State::Unknown
            }
        };
        windows.map(state).collect()
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
                    run.sharp += u32::from(self.windows[at].cell(self.series).sharp);
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

    fn delay_ms(&self, at: usize, floors: &[i64]) -> f64 {
        let cell = self.windows[at].cell(self.series);
        (i64::from(cell.lower) - floors[at]) as f64 / 1e3
    }

    fn standing(&self, floors: &[i64], runs: &[Run], stood: &[usize]) -> Option<Standing> {
        let mut delays: Vec<f64> = stood.iter().map(|&at| self.delay_ms(at, floors)).collect();
        let mut at = |q| quantile(&mut delays, q);
        let (p25, p50, p75, p95) = (at(0.25)?, at(0.5)?, at(0.75)?, at(0.95)?);
        Some(Standing {
            windows: stood.len() as u32,
            span: (self.windows[stood[0]].index, self.windows[*stood.last()?].index),
            longest: runs.iter().map(|run| self.length(run)).max()?,
            p50_ms: p50,
            p95_ms: p95,
            iqr_ms: p75 - p25,
            falls: runs.iter().filter(|run| run.is_ended_by_low).count() as u32,
            before_ms: None,
        })
    }

    fn carrying(
        &self,
        side: Side,
        floors: &[i64],
        states: &[State],
        stood: &[usize],
    ) -> Carrying {
        let of = |at: usize| &self.windows[at].carried[side.index()];
        let rate = |bytes: f64| bytes * 8.0 / WINDOW.as_secs();
        let all = 0..self.windows.len();
        let mut carried: Vec<f64> = all
            .clone()
            .filter(|&at| of(at).user_bytes > 0)
            .map(|at| f64::from(of(at).user_bytes))
            .collect();
        let peak = quantile(&mut carried, Self::PEAK);
        let is_busy =
            |at: &usize| peak.is_some_and(|peak| f64::from(of(*at).user_bytes) >= peak / 2.0);
        let low: Vec<usize> = all.clone().filter(|&at| states[at] == State::Low).collect();
        let median = |places: &[usize], what: &dyn Fn(usize) -> f64| {
            let mut values: Vec<f64> = places.iter().map(|&at| what(at)).collect();
            quantile(&mut values, 0.5)
        };
        let pairs: Vec<(f64, f64)> = all
            .clone()
            .filter(|&at| self.windows[at].cell(self.series).samples > 0)
            .filter(|&at| of(at).user_in_flight > 0)
            .map(|at| {
                let delay = i64::from(self.windows[at].cell(self.series).upper) - floors[at];
                (f64::from(of(at).user_in_flight), delay as f64)
            })
            .collect();
        Carrying {
            peak_bps: peak.map(rate),
            standing_bps: median(stood, &|at| rate(f64::from(of(at).user_bytes))),
            own_standing_bps: median(stood, &|at| rate(f64::from(of(at).own_bytes))),
            in_flight_bytes: median(stood, &|at| f64::from(of(at).user_in_flight)),
            own_in_flight_bytes: median(stood, &|at| f64::from(of(at).own_in_flight)),
            low_in_flight_bytes: median(&low, &|at| f64::from(of(at).user_in_flight)),
            low_bps: median(&low, &|at| rate(f64::from(of(at).user_bytes))),
            steadiness: quartile_ratio(stood.iter().map(|&at| f64::from(of(at).user_bytes))),
            coupling: (pairs.len() >= 8).then(|| rank_correlation(&pairs)).flatten(),
            lost: all.clone().map(|at| u64::from(of(at).lost)).sum(),
            busy: all.clone().filter(is_busy).count() as u32,
            busy_low: low.iter().filter(|at| is_busy(at)).count() as u32,
        }
    }
}

/// The 25th percentile over the 75th.
fn quartile_ratio(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    let (low, high) = (quantile(&mut values, 0.25)?, quantile(&mut values, 0.75)?);
    (high > 0.0).then(|| low / high)
}

/// Median delay of the leg before the capture point while the path's delay stood.
fn before_ms(windows: &[Window], floors: &[i64], side: Side, span: (u32, u32)) -> Option<f64> {
    let within = windows.iter().zip(floors);
    let within = within.filter(|(w, _)| (span.0..=span.1).contains(&w.index));
    let delays = within.filter_map(|(window, floor)| {
        let cell = window.cell(Series::OneWay(side));
        (cell.samples > 0).then(|| (i64::from(cell.upper) - floor) as f64 / 1e3)
    });
    quantile(&mut delays.collect::<Vec<f64>>(), 0.5)
}
