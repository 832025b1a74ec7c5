//! When one direction's stage has run long enough.
//!
//! # References
//! draft-ietf-ippm-responsiveness-09, sections 4.1 and 4.2: goodput first, then responsiveness.
//!
//! # Where we differ
//!
//! | draft | here | why |
//! |---|---|---|
//! | does not say whether responsiveness counts before goodput is stable | it does not | mach counts it: its number is that of a path that is not yet full |
//! | an interval without probes is not mentioned | has no responsiveness, and stability begins anew | mach records 0 RPM |

use crate::params::Params;
use crate::rpm::{Confidence, ForeignProbe, Probes, Rpm};
use std::collections::VecDeque;
use unbloat_units::{Bytes, Delta, Rate, Time};

/// Probes that are kept of one interval, each kind: many times the 100 a second of the draft (MPS).
const MAX_PROBES: usize = 4096;

/// Where a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Connections are added until more do not carry more.
    Filling,
    /// Goodput is stable, responsiveness not yet.
    Saturated,
    /// Both are: the stage is done.
    Stable,
}

/// One interval that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// From 0.
    pub index: usize,
    pub begin: Time,
    pub end: Time,
    /// Of this interval.
    pub goodput: Rate,
    /// Of the last MAD intervals, or as many as there were.
    pub average: Rate,
    /// Of the probes that ended in these. None if this one had not both kinds.
    pub responsiveness: Option<Rpm>,
    pub phase: Phase,
    /// Load connections to open now; within MNP if those told before are there.
    pub add_connections: usize,
}

/// One stage of one direction. Told what happens, asked at each interval's end.
#[derive(Clone, Debug)]
pub struct Stability {
    params: Params,
    begin: Time,
    /// Intervals of which an average is made, the running one last.
    window: VecDeque<Bin>,
    averages: VecDeque<f64>,
    rpms: VecDeque<f64>,
    intervals: usize,
    connections: usize,
    phase: Phase,
    latest: Option<Rpm>,
}

#[derive(Clone, Debug, Default)]
struct Bin {
    bytes: u64,
    probes: Probes,
}

impl Stability {
    pub fn new(params: Params, begin: Time) -> Stability {
        Stability {
            params,
            begin,
            window: VecDeque::from([Bin::default()]),
            averages: VecDeque::new(),
            rpms: VecDeque::new(),
            intervals: 0,
            connections: params.initial_connections.min(params.max_connections),
            phase: Phase::Filling,
            latest: None,
        }
    }

    /// Bytes that the receiving application got, of all load connections, since this was told last.
    pub fn on_bytes(&mut self, bytes: Bytes) {
        let bin = self.current();
        bin.bytes = bin.bytes.saturating_add(bytes.as_u64());
    }

    /// A foreign probe ended.
    pub fn on_foreign(&mut self, probe: ForeignProbe) {
        let foreign = &mut self.current().probes.foreign;
        if foreign.len() < MAX_PROBES {
            foreign.push(probe);
        }
    }

    /// A probe on a load connection ended.
    pub fn on_own(&mut self, delay: Delta) {
        let own = &mut self.current().probes.own;
        if own.len() < MAX_PROBES {
            own.push(delay);
        }
    }

    fn current(&mut self) -> &mut Bin {
        self.window.back_mut().expect("there is always one")
    }

    /// When [`Stability::end_interval`] is to be called.
    pub fn next_end(&self) -> Time {
        self.begin + self.params.interval * (self.intervals as i64 + 1)
    }

    /// Load connections that there should be.
    pub fn connections(&self) -> usize {
        self.connections
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Ends the interval that runs, and says what it was and what to do.
    pub fn end_interval(&mut self) -> Interval {
        let end = self.next_end();
        let goodput = self.rate_of(self.current_bytes(), 1);
        let counts = self.window.iter().map(|bin| bin.bytes);
        let bytes = counts.fold(0, u64::saturating_add);
        let average = self.rate_of(bytes, self.window.len());
        let responsiveness = self.pooled_responsiveness();
        self.latest = responsiveness.or(self.latest);
        let keep = self.params.average_over;
        remember(&mut self.averages, average.as_bps_f64(), keep);
        self.judge(responsiveness);
        let add_connections = self.added();
        let interval = Interval {
            index: self.intervals,
            begin: end - self.params.interval,
            end,
            goodput,
            average,
            responsiveness,
            phase: self.phase,
            add_connections,
        };
        self.intervals += 1;
        self.window.push_back(Bin::default());
        if self.window.len() > keep {
            self.window.pop_front();
        }
        interval
    }

    fn judge(&mut self, responsiveness: Option<Rpm>) {
        let (keep, tolerance) = (self.params.average_over, self.params.tolerance);
        if self.phase == Phase::Filling {
            if !agree(&self.averages, keep, tolerance) {
                return;
            }
            self.phase = Phase::Saturated;
        }
        match responsiveness {
            Some(rpm) => remember(&mut self.rpms, rpm.as_f64(), keep),
            None => self.rpms.clear(),
        }
        if agree(&self.rpms, keep, tolerance) {
            self.phase = Phase::Stable;
        }
    }

    fn added(&mut self) -> usize {
        if self.phase != Phase::Filling {
            return 0;
        }
        let room = self.params.max_connections - self.connections;
        let added = self.params.added_connections.min(room);
        self.connections += added;
        added
    }

    fn current_bytes(&self) -> u64 {
        self.window.back().map_or(0, |bin| bin.bytes)
    }

    fn rate_of(&self, bytes: u64, intervals: usize) -> Rate {
        let span = self.params.interval * intervals as i64;
        Rate::from_bps_f64(8.0 * bytes as f64 / span.as_secs())
    }

    /// Of the probes of the last MAD intervals; none if the last of them had none.
    fn pooled_responsiveness(&self) -> Option<Rpm> {
        let last = &self.window.back()?.probes;
        if last.foreign.is_empty() || last.own.is_empty() {
            return None;
        }
        let mut pooled = Probes::default();
        for bin in &self.window {
            pooled.foreign.extend_from_slice(&bin.probes.foreign);
            pooled.own.extend_from_slice(&bin.probes.own);
        }
        pooled.responsiveness(&self.params)
    }

    /// The number to report: that of the last interval that had one.
    pub fn responsiveness(&self) -> Option<Rpm> {
        self.latest
    }

    pub fn confidence(&self) -> Confidence {
        match self.phase {
            Phase::Stable => Confidence::High,
            _ if self.intervals >= self.params.average_over => Confidence::Medium,
            _ => Confidence::Low,
        }
    }
}

fn remember(values: &mut VecDeque<f64>, value: f64, keep: usize) {
    values.push_back(value);
    if values.len() > keep {
        values.pop_front();
    }
}

/// Whether there are `keep` values and their standard deviation is less than `tolerance` of the latest.
fn agree(values: &VecDeque<f64>, keep: usize, tolerance: f64) -> bool {
    let Some(&latest) = values.back() else {
        return false;
    };
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    values.len() >= keep && variance.sqrt() < tolerance * latest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpm::Tls;

    /// With the interval of draft-08.
    fn of_one_second() -> Params {
        Params {
            interval: Delta::secs(1),
            ..Params::default()
        }
    }

    /// Runs intervals in which so many Mbit/s went and round trips of all probes took so many ms.
    fn run(stability: &mut Stability, mbps: &[u64], ms: &[i64]) -> Vec<Interval> {
        let intervals = mbps.iter().zip(ms);
        intervals
            .map(|(&rate, &took)| {
                let span = stability.params.interval;
                stability.on_bytes(Rate::mbps(rate) * span);
                for _ in 0..20 {
                    stability.on_own(Delta::ms(took));
                    stability.on_foreign(foreign(took));
                }
                stability.end_interval()
            })
            .collect()
    }

    fn foreign(ms: i64) -> ForeignProbe {
        ForeignProbe {
            tcp: Delta::ms(ms),
            tls: Some(Tls {
                took: Delta::ms(ms),
                round_trips: 1,
            }),
            http: Delta::ms(ms),
        }
    }

    #[test]
    fn a_steady_path_is_saturated_after_mad_intervals_and_stable_after_three_more() {
        let mut stability = Stability::new(Params::default(), Time::from_ns(0));
        let intervals = run(&mut stability, &[50; 7], &[60; 7]);
        let phases: Vec<Phase> = intervals.iter().map(|i| i.phase).collect();
        let (filling, saturated) = ([Phase::Filling; 3], [Phase::Saturated; 3]);
        assert_eq!(phases[..3], filling);
        assert_eq!(phases[3..6], saturated);
        assert_eq!(phases[6], Phase::Stable);
        assert_eq!(intervals[6].end, Time::from_ns(35_000_000_000));
        assert_eq!(intervals[6].average, Rate::mbps(50));
        assert_eq!(stability.confidence(), Confidence::High);
        assert_eq!(stability.responsiveness().unwrap().as_f64(), 1000.0);
    }

    #[test]
    fn connections_are_added_while_goodput_grows_and_never_beyond_mnp() {
        let params = Params {
            max_connections: 5,
            ..of_one_second()
        };
        let mut stability = Stability::new(params, Time::from_ns(0));
        assert_eq!(stability.connections(), 1);
        let growing = [5, 10, 20, 40, 80, 160, 320];
        let intervals = run(&mut stability, &growing, &[50; 7]);
        let added: Vec<usize> = intervals.iter().map(|i| i.add_connections).collect();
        assert_eq!(added, [1, 1, 1, 1, 0, 0, 0]);
        assert_eq!(stability.connections(), 5);
        assert_eq!(stability.phase(), Phase::Filling);
        assert_eq!(stability.confidence(), Confidence::Medium);
    }

    #[test]
    fn responsiveness_that_still_falls_is_not_stable_though_goodput_is() {
        let mut stability = Stability::new(of_one_second(), Time::from_ns(0));
        let worse = [40, 80, 160, 320, 640, 1280, 2560, 5120];
        run(&mut stability, &[50; 8], &worse);
        assert_eq!(stability.phase(), Phase::Saturated);
        assert_eq!(stability.confidence(), Confidence::Medium);
    }

    /// Foreign probes of 40 ms hold the number at 750 and more, so own ones may double from one interval to the next.
    #[test]
    fn by_the_drafts_formula_own_probes_that_grow_without_end_are_stable() {
        let mut stability = Stability::new(of_one_second(), Time::from_ns(0));
        for k in 0..9 {
            stability.on_bytes(Rate::mbps(50) * Delta::secs(1));
            stability.on_foreign(foreign(40));
            stability.on_own(Delta::ms(40 << k));
            stability.end_interval();
        }
        assert_eq!(stability.phase(), Phase::Stable);
        assert!(stability.responsiveness().unwrap().as_f64() > 750.0);
    }

    #[test]
    fn too_short_a_run_has_low_confidence() {
        let mut stability = Stability::new(Params::default(), Time::from_ns(0));
        run(&mut stability, &[50; 3], &[60; 3]);
        assert_eq!(stability.confidence(), Confidence::Low);
    }

    #[test]
    fn a_path_that_carries_nothing_is_never_saturated() {
        let mut stability = Stability::new(of_one_second(), Time::from_ns(0));
        for _ in 0..20 {
            stability.end_interval();
        }
        assert_eq!(stability.phase(), Phase::Filling);
        assert_eq!(stability.responsiveness(), None);
    }

    #[test]
    fn intervals_without_probes_do_not_make_it_stable() {
        let mut stability = Stability::new(of_one_second(), Time::from_ns(0));
        run(&mut stability, &[50; 6], &[60; 6]);
        for _ in 0..8 {
            stability.on_bytes(Rate::mbps(50) * Delta::secs(1));
            stability.end_interval();
        }
        assert_eq!(stability.phase(), Phase::Saturated);
        // What was seen last is still what is reported.
        assert!(stability.responsiveness().is_some());
    }

    #[test]
    fn floods_of_probes_take_bounded_memory() {
        let mut stability = Stability::new(of_one_second(), Time::from_ns(0));
        for _ in 0..3 * MAX_PROBES {
            stability.on_own(Delta::ms(1));
        }
        assert_eq!(stability.current().probes.own.len(), MAX_PROBES);
    }
}
