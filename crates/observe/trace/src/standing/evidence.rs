//! Windows of a flow to evidence: how long a delay stood, and what the path carried meanwhile.

use super::delays::{Delays, target};
use super::halves::share_back;
use super::levels::{LEAST_SPANS, step_us};
use super::ranks::rank_correlation;
use super::recorder::Recorder;
use super::wait::{Wait, WaitFound};
use super::window::{WINDOW, Window};
use crate::standing::Load;
use std::collections::BTreeSet;
use std::ops::Range;
use unbloat_stats::quantile;
use unbloat_units::{Both, Delta, Direction};

/// What is known of the flow besides its windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Smallest round trip over both sides of the capture point. `None` if only one was seen: a half of a path tells nothing of the whole.
    pub(crate) rtt_floor: Option<Delta>,
    /// The handshake was seen, so the flow's first packets are among the samples.
    pub(crate) is_begin_seen: bool,
    pub(crate) is_over: bool,
    /// Also where nothing can follow from it.
    pub(crate) is_told_always: bool,
    /// A delay that stands is evidence from here on.
    pub(crate) felt: Delta,
}

/// Evidence of the loops of one leg over a minute at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Evidence {
    /// The direction in which the capture point's packets leave for the leg: down is the one to the client.
    pub(crate) leg: Direction,
    /// First and last window.
    pub(crate) span: (u32, u32),
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
    /// First and last window of all runs.
    pub(crate) span: (u32, u32),
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    /// Median of what the answering host may have held back.
    pub(crate) held_ms: f64,
    /// Low windows before the first of them.
    pub(crate) low_before: u32,
    /// Share of them on levels: two seconds or more in which the delay did not move.
    pub(crate) level_share: f64,
    /// Of the runs that were seen to begin, the share that began in one step: from a low window to the delay at which they stood within half
    /// a second. `None` where no begin was seen.
    pub(crate) step_share: Option<f64>,
    /// Share of the delay that lies on the way back, by the clock of the host that answers.
    pub(crate) back_share: Option<f64>,
}

/// What a direction carried, of the flow and of all flows of its user.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Carrying {
    /// The 80th percentile of windows that carried anything.
    pub(crate) peak_bps: Option<f64>,
    /// Medians over the windows in which the delay stood.
    pub(crate) standing_bps: Option<f64>,
    pub(crate) own_standing_bps: Option<f64>,
    /// Median over low windows before the delay first stood.
    pub(crate) before_bps: Option<f64>,
    /// Of the standing windows' bytes, the 25th percentile over the 75th: near one where a full link
    /// sets the pace.
    pub(crate) steadiness: Option<f64>,
    /// Rank correlation of the user's bytes in flight with the delay.
    pub(crate) coupling: Option<f64>,
    pub(crate) lost: u64,
    /// Windows with at least half of the peak.
    pub(crate) busy: u32,
}

/// Evidence of both legs, as far as they have samples. Takes the recorder's windows.
pub(crate) fn evidence(recorder: &mut Recorder, facts: &Facts, load: &Load) -> Vec<Evidence> {
    let windows = recorder.take(facts.is_over, load);
    let found = match !facts.is_told_always && is_silent(recorder, &windows) {
        true => Vec::new(),
        false => evidence_of(recorder, facts, &windows),
    };
    if !facts.is_over {
        recorder.keep_floors(&windows);
    }
    found
}

fn evidence_of(recorder: &Recorder, facts: &Facts, windows: &[Window]) -> Vec<Evidence> {
    let loads = Both::of(|side| Carried::of(windows, side));
    let of_leg = |leg: Direction| {
        let waits = recorder.waits(leg);
        let is_measured = windows.iter().any(|w| w.cells[leg].samples > 0);
        if !is_measured && waits.iter().all(|wait| wait.samples == 0) {
            return None;
        }
        let target = target(facts.rtt_floor);
        let mut delays = recorder.delays(leg, windows);
        acquit_host(leg, windows, &mut delays, facts.felt.max(target));
        let judged = Judged {
            leg,
            windows,
            delays: &delays,
            loads,
            target,
            felt: facts.felt,
        };
        judged.evidence(facts, waits)
    };
    Direction::BOTH.into_iter().filter_map(of_leg).collect()
}

/// Where a host may have waited before it answered, its clock tells whether the delay came after the answer was stamped: then it
/// is no wait of the host's. It is a queue's if it drifts, as a longer way and a radio that sleeps do not.
fn acquit_host(leg: Direction, windows: &[Window], delays: &mut [Delays], felt: Delta) {
    /// The rest may be the clock's: a step of 50 ms hides a part of twice as much.
    const MOST: f64 = 0.6;
    let is_open = |d: &Delays| d.upper >= felt.as_us() && d.lower < felt.as_us();
    let open: Vec<usize> = (0..delays.len())
        .filter(|&at| delays[at].samples > 0 && is_open(&delays[at]))
        .collect();
    if (open.len() as u32) < Judged::LEAST_SHARP || !drifts(delays, &open) {
        return;
    }
    if share_back(leg, windows, delays, &open).is_some_and(|share| share >= MOST) {
        for at in open {
            let delay = &mut delays[at];
            *delay = Delays {
                lower: delay.upper,
                usual: [delay.upper; 2],
                held: 0,
                sharp: delay.samples,
                ..*delay
            };
        }
    }
}

/// Delays in windows that differ, and follow each other. By quartiles, which a repeat after a loss does not move.
fn drifts(delays: &[Delays], places: &[usize]) -> bool {
    let us = |place: usize| delays[place].upper as f64;
    let mut all: Vec<f64> = places.iter().map(|&place| us(place)).collect();
    let steps = places.windows(2).map(|two| (us(two[1]) - us(two[0])).abs());
    let mut steps: Vec<f64> = steps.collect();
    let mut at = |q| quantile(&mut all, q).unwrap_or_default();
    let (spread, usual) = (at(0.75) - at(0.25), at(0.5));
    spread >= usual / 4.0 && quantile(&mut steps, 0.75).is_some_and(|step| step <= spread / 2.0)
}

/// A flow with so many windows has evidence, whatever it shows: two seconds. The verdict must not need less load than this to call a direction free
/// of queues.
pub const ALWAYS_TOLD_WINDOWS: u64 = (Delta::secs(2).as_ns() / WINDOW.as_ns()) as u64;

/// Nothing can follow from the windows, as of most flows, which are over too soon: no delay can stand or have levels, and nothing made packets
/// late.
fn is_silent(recorder: &Recorder, windows: &[Window]) -> bool {
    let is_late = |leg| recorder.waits(leg).iter().any(|wait| wait.samples > 0);
    (windows.len() as u64) < ALWAYS_TOLD_WINDOWS
        && !Direction::BOTH
            .into_iter()
            .any(|leg| can_stand(leg, windows) || can_step(leg, windows) || is_late(leg))
}

/// Whether there may be a run that [`Judged::runs`] keeps.
fn can_stand(leg: Direction, windows: &[Window]) -> bool {
    let sharp = windows.iter().map(|window| window.cells[leg].sharp);
    let able = sharp.filter(|&sharp| sharp > 0);
    let count = able.clone().count() as u32;
    let sum: u32 = able.map(u32::from).sum();
    count >= Judged::LEAST_WINDOWS && sum >= Judged::LEAST_SHARP
}

/// Whether there may be two levels ([`step_us`]).
fn can_step(leg: Direction, windows: &[Window]) -> bool {
    let seen = windows.iter().filter(|w| w.cells[leg].samples > 0);
    seen.count() >= 2 * LEAST_SPANS
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

/// One leg in a block of windows.
struct Judged<'a> {
    leg: Direction,
    windows: &'a [Window],
    delays: &'a [Delays],
    loads: Both<Carried>,
    /// Delays that differ by no more are the same.
    target: Delta,
    /// From here on a delay is felt.
    felt: Delta,
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
}

impl Judged<'_> {
    /// A run is a standing queue only from here on: more than a burst or a pause of the radio.
    const LEAST_SPAN: Delta = Delta::secs(1);
    const LEAST_WINDOWS: u32 = 3;
    /// HyStart++ wants eight samples before it takes a minimum for one (RFC 9406, N_RTT_SAMPLE).
    const LEAST_SHARP: u32 = 8;
    /// Windows for which a delay does not move on a level: two seconds.
    const LEVEL: u32 = (2 * Self::LEAST_SPAN.as_ns() / WINDOW.as_ns()) as u32;
    /// A run goes on over a silence of this many windows.
    const BRIDGED: u32 = 6;

    /// `None` if nothing was measured, neither here nor of the hosts' own waits.
    fn evidence(&self, facts: &Facts, waits: [WaitFound; Wait::COUNT]) -> Option<Evidence> {
        let seen: Vec<usize> = self.sampled(0..self.windows.len()).collect();
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
            leg: self.leg,
            span,
            is_floor_seen: facts.is_begin_seen,
            samples: sum(|d| d.samples),
            sharp: sum(|d| d.sharp),
            windows: seen.len() as u32,
            low: low.len() as u32,
            standing: self.standing(&seen, &low, &runs, &stood),
            waits: self.told(waits, &states, seen.len()),
            step: step_us(self.windows, self.delays, self.target).map(Delta::us),
            ahead: self.carrying(self.leg, &low, &stood),
            back: self.carrying(self.leg.reverse(), &low, &stood),
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

    fn state(&self, delays: &Delays) -> State {
        let felt = self.felt.max(self.target).as_us();
        if delays.samples == 0 {
            State::Unknown
        } else if delays.upper < felt {
            State::Low
        } else if delays.lower >= felt {
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
                // SACKs alone begin no run and convict nothing.
                State::Standing if self.delays[at].sharp == 0 && open.is_none() => {}
                State::Low => {
                    runs.extend(open.take());
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
                    run.standing += u32::from(self.delays[at].sharp > 0);
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
        self.delays[at].usual.iter().sum::<i64>() as f64 / 2e3
    }

    fn standing(
        &self,
        seen: &[usize],
        low: &[usize],
        runs: &[Run],
        stood: &[usize],
    ) -> Option<Standing> {
        let halves = stood.iter().flat_map(|&at| self.delays[at].usual);
        let mut delays: Vec<f64> = halves.map(|us| us as f64 / 1e3).collect();
        let mut at = |q| quantile(&mut delays, q);
        let (p50, p95) = (at(0.5)?, at(0.95)?);
        let held = stood
            .iter()
            .map(|&place| self.delays[place].held as f64 / 1e3);
        let levels = self.on_levels(seen);
        let on_levels = stood.iter().filter(|place| levels.contains(place)).count();
        Some(Standing {
            windows: runs.iter().map(|run| self.length(run)).sum(),
            span: (
                self.windows[stood[0]].index,
                self.windows[*stood.last()?].index,
            ),
            p50_ms: p50,
            p95_ms: p95,
            held_ms: quantile(&mut held.collect::<Vec<f64>>(), 0.5)?,
            low_before: low.partition_point(|&place| place < stood[0]) as u32,
            level_share: on_levels as f64 / stood.len() as f64,
            step_share: self.step_share(low, runs, stood),
            back_share: share_back(self.leg, self.windows, self.delays, stood),
        })
    }

    /// A longer way adds all of its delay to the packet after the last that went the shorter one. A queue gains it as fast as it fills.
    fn step_share(&self, low: &[usize], runs: &[Run], stood: &[usize]) -> Option<f64> {
        let begins = runs
            .iter()
            .filter_map(|run| self.begins_in_a_step(run, low, stood));
        let begins: Vec<bool> = begins.collect();
        let steps = begins.iter().filter(|is_step| **is_step).count();
        (!begins.is_empty()).then(|| steps as f64 / begins.len() as f64)
    }

    /// `None` where a run was not seen to begin: no low window is near and no delay between low and full, or one that stayed, so that
    /// several steps may have made it.
    fn begins_in_a_step(&self, run: &Run, low: &[usize], stood: &[usize]) -> Option<bool> {
        const JUMP: f64 = 0.5;
        const FULL: f64 = 0.8;
        let before = low.partition_point(|&at| at < run.first).checked_sub(1)?;
        let before = low[before];
        let of_run = stood
            .iter()
            .filter(|at| (run.first..=run.last).contains(at));
        let mut delays: Vec<f64> = of_run.map(|&at| self.delay_ms(at)).collect();
        let usual = quantile(&mut delays, 0.5)?;
        // The window before the first may hold packets of both ways.
        let is_next = self.windows[run.first].index - self.windows[before].index <= 2;
        // All of the first window went the longer way.
        let is = self.delays[run.first].usual.into_iter().min()? as f64 / 1e3;
        if is_next && is - self.delay_ms(before) >= JUMP * usual && is >= FULL * usual {
            return Some(true);
        }
        let rise = self.sampled(before + 1..run.last + 1);
        let rise = rise.take_while(|&at| self.delay_ms(at) < FULL * usual);
        let rise: Vec<usize> = rise.collect();
        let is_between = |&at: &usize| {
            let [upper, lower] = [self.delays[at].upper, self.delays[at].lower];
            upper as f64 / 1e3 < FULL * usual && lower as f64 / 1e3 > (1.0 - FULL) * usual
        };
        let has_grown = rise.iter().any(is_between) && self.on_levels(&rise).is_empty();
        has_grown.then_some(false)
    }

    /// Those of these windows in which anything was measured.
    fn sampled(&self, places: Range<usize>) -> impl Iterator<Item = usize> {
        places.filter(|&at| self.delays[at].samples > 0)
    }

    /// Those of these windows on levels: a queue drains or grows; what stays within the target for two seconds is a longer way.
    fn on_levels(&self, places: &[usize]) -> BTreeSet<usize> {
        let tolerance_ms = self.target.as_ms() / 2.0;
        let (mut found, mut rest) = (BTreeSet::new(), places);
        while let Some(&begin) = rest.first() {
            let first = self.delay_ms(begin);
            let is_same = |&&at: &&usize| (self.delay_ms(at) - first).abs() <= tolerance_ms;
            let same = rest.iter().take_while(is_same).count().max(1);
            let (level, after) = rest.split_at(same);
            let lasts = self.windows[level[same - 1]].index - self.windows[begin].index + 1;
            if lasts >= Self::LEVEL && same >= Self::LEAST_WINDOWS as usize {
                found.extend(level);
            }
            rest = after;
        }
        found
    }

    /// Over the windows at the places `low` and `stood`.
    fn carrying(&self, side: Direction, low: &[usize], stood: &[usize]) -> Carrying {
        let load = &self.loads[side];
        let of = |at: usize| &self.windows[at].carried[side];
        let rate = |bytes: f64| bytes * 8.0 / WINDOW.as_secs();
        let median = |places: &[usize], what: &dyn Fn(usize) -> u32| {
            let values = places.iter().map(|&at| f64::from(what(at)));
            quantile(&mut values.collect::<Vec<f64>>(), 0.5)
        };
        let before = match stood.first() {
            Some(&onset) => &low[..low.partition_point(|&at| at < onset)],
            None => low,
        };
        Carrying {
            peak_bps: load.peak_bytes.map(rate),
            standing_bps: median(stood, &|at| of(at).user_bytes).map(rate),
            own_standing_bps: median(stood, &|at| of(at).own_bytes).map(rate),
            before_bps: median(before, &|at| of(at).user_bytes).map(rate),
            steadiness: quartile_ratio(stood.iter().map(|&at| f64::from(of(at).user_bytes))),
            coupling: self.coupling(side),
            lost: load.lost,
            busy: load.busy,
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

/// The 25th percentile over the 75th.
fn quartile_ratio(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    let (low, high) = (quantile(&mut values, 0.25)?, quantile(&mut values, 0.75)?);
    (high > 0.0).then(|| low / high)
}
