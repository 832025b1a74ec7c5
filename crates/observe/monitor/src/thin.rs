//! Old history at a coarser resolution.

use crate::record::{Delay, LayerDelay, NetworkDelay, Record};
use std::collections::BTreeMap;
use unbloat_summary::VerdictKind;
use unbloat_units::{Bytes, Delta, Direction};

/// What is kept of a day, by its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Days at the resolution at which they were recorded, today among them.
    pub full_days: i64,
    /// Then so many days at 10 minutes.
    pub ten_minute_days: i64,
    /// Then so many days at 1 hour; then the day is deleted.
    pub hour_days: i64,
    /// All days together, what is written anew included. The oldest days are deleted first.
    pub disk: Bytes,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention {
            full_days: 8,
            ten_minute_days: 27,
            hour_days: 365,
            disk: Bytes::mib(64),
        }
    }
}

/// What becomes of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    Full,
    TenMinutes,
    Hours,
    Deleted,
}

impl Age {
    /// Length of the spans; `None` keeps them.
    pub const fn resolution(self) -> Option<Delta> {
        match self {
            Age::Full | Age::Deleted => None,
            Age::TenMinutes => Some(Delta::secs(600)),
            Age::Hours => Some(Delta::secs(3_600)),
        }
    }
}

impl Retention {
    /// What a day of this age in days is kept at. Days to come, by a clock that was wrong, are kept.
    pub fn age(&self, days: i64) -> Age {
        let ten = self.full_days + self.ten_minute_days;
        match days {
            days if days < self.full_days => Age::Full,
            days if days < ten => Age::TenMinutes,
            days if days < ten + self.hour_days => Age::Hours,
            _ => Age::Deleted,
        }
    }
}

/// Joins spans that begin within the same span of `resolution`. Times in which a queue stood are summed, delays keep their largest (p50:
/// their mean weighted by that time), verdicts their worst. Events and tests stay as they are.
pub fn thin(records: Vec<Record>, resolution: Delta) -> Vec<Record> {
    let mut sorted = records;
    sorted.sort_by_key(Record::start_ns);
    let bin = |start_ns: i64| start_ns.div_euclid(resolution.as_ns()) * resolution.as_ns();
    let mut delays: BTreeMap<(i64, Direction), Delay> = BTreeMap::new();
    let mut networks: BTreeMap<(i64, Direction, String), NetworkDelay> = BTreeMap::new();
    let mut layers: BTreeMap<(i64, String), LayerDelay> = BTreeMap::new();
    let mut others = Vec::new();
    for record in sorted {
        match record {
            Record::Delay(mut one) => {
                one.start_ns = bin(one.start_ns);
                let key = (one.start_ns, one.direction);
                match delays.get_mut(&key) {
                    Some(known) => known.join(&one),
                    None => drop(delays.insert(key, one)),
                }
            }
            Record::Network(mut one) => {
                one.start_ns = bin(one.start_ns);
                let key = (one.start_ns, one.direction, one.network.clone());
                match networks.get_mut(&key) {
                    Some(known) => known.join(&one),
                    None => drop(networks.insert(key, one)),
                }
            }
            Record::Layer(mut one) => {
                one.start_ns = bin(one.start_ns);
                let key = (one.start_ns, one.layer.clone());
                match layers.get_mut(&key) {
                    Some(known) => known.join(&one),
                    None => drop(layers.insert(key, one)),
                }
            }
            Record::Event(_) | Record::Probe(_) => others.push(record),
        }
    }
    let mut thinned: Vec<Record> = delays.into_values().map(Record::Delay).collect();
    thinned.extend(few_networks(networks.into_values()));
    thinned.extend(layers.into_values().map(Record::Layer));
    thinned.extend(others);
    thinned.sort_by_key(Record::start_ns);
    thinned
}

/// Of each span the networks with most delay: spans of many networks would be longer than those that they were made of.
fn few_networks(all: impl Iterator<Item = NetworkDelay>) -> Vec<Record> {
    let mut by_span: BTreeMap<i64, Vec<NetworkDelay>> = BTreeMap::new();
    for one in all {
        by_span.entry(one.start_ns).or_default().push(one);
    }
    let kept = by_span.into_values().flat_map(|mut span| {
        span.sort_by(|a, b| {
            let weights = b.standing_s.total_cmp(&a.standing_s);
            weights.then(b.measured_s.total_cmp(&a.measured_s))
        });
        span.truncate(crate::Span::NETWORKS);
        span
    });
    kept.map(Record::Network).collect()
}

pub(crate) fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// Which verdict a longer span has.
const fn weight(verdict: VerdictKind) -> u8 {
    match verdict {
        VerdictKind::Bloated => 5,
        VerdictKind::Slight => 4,
        VerdictKind::Clean => 3,
        VerdictKind::CannotTell => 2,
        VerdictKind::OtherDelay => 1,
        VerdictKind::NotTested => 0,
    }
}

impl Delay {
    fn join(&mut self, other: &Delay) {
        let (own, more) = (self.standing_s, other.standing_s);
        self.standing_p50_ms = match (self.standing_p50_ms, other.standing_p50_ms) {
            (Some(a), Some(b)) if own + more > 0.0 => Some((a * own + b * more) / (own + more)),
            (a, b) => larger(a, b),
        };
        self.span_ms += other.span_ms;
        if weight(other.verdict) > weight(self.verdict) {
            self.verdict = other.verdict;
        }
        self.standing_s += more;
        self.loaded_s += other.loaded_s;
        self.sustained_ms = larger(self.sustained_ms, other.sustained_ms);
        self.standing_p95_ms = larger(self.standing_p95_ms, other.standing_p95_ms);
        self.peak_bps = larger(self.peak_bps, other.peak_bps);
        self.flows = self.flows.max(other.flows);
    }
}

impl NetworkDelay {
    fn join(&mut self, other: &NetworkDelay) {
        self.span_ms += other.span_ms;
        self.flows = self.flows.max(other.flows);
        self.measured_s += other.measured_s;
        self.standing_s += other.standing_s;
        self.sustained_ms = larger(self.sustained_ms, other.sustained_ms);
    }
}

impl LayerDelay {
    fn join(&mut self, other: &LayerDelay) {
        let (own, more) = (self.span_ms as f64, other.span_ms as f64);
        self.mean_ms = (self.mean_ms * own + other.mean_ms * more) / (own + more).max(1.0);
        self.span_ms += other.span_ms;
        self.p95_ms = larger(self.p95_ms, other.p95_ms);
        self.is_measured &= other.is_measured;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    fn delay(minute: i64, standing_s: f64, p50: f64) -> Record {
        Record::Delay(Delay {
            start_ns: minute * MINUTE,
            span_ms: 60_000,
            direction: Direction::Up,
            verdict: match standing_s > 0.0 {
                true => VerdictKind::Bloated,
                false => VerdictKind::Clean,
            },
            standing_s,
            loaded_s: 20.0,
            sustained_ms: Some(p50),
            standing_p50_ms: (standing_s > 0.0).then_some(p50),
            standing_p95_ms: (standing_s > 0.0).then_some(p50 + 5.0),
            peak_bps: None,
            flows: 3,
        })
    }

    #[test]
    fn time_that_a_queue_stood_is_never_lost_and_thinning_twice_is_thinning_once() {
        let day: Vec<Record> = (0..1_440)
            .map(|minute| {
                delay(
                    minute,
                    if minute % 50 == 7 { 30.0 } else { 0.0 },
                    (minute % 90) as f64,
                )
            })
            .collect();
        let standing = |records: &[Record]| -> (f64, u64) {
            let delays = records.iter().filter_map(|record| match record {
                Record::Delay(delay) => Some((delay.standing_s, delay.span_ms)),
                _ => None,
            });
            delays.fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let ten = thin(day.clone(), Delta::secs(600));
        assert_eq!(ten.len(), 144);
        let hours = thin(ten.clone(), Delta::secs(3_600));
        assert_eq!(hours.len(), 24);
        assert_eq!(standing(&day), standing(&ten));
        assert_eq!(standing(&day), standing(&hours));
        assert_eq!(thin(ten.clone(), Delta::secs(600)), ten);
        let directly = thin(day, Delta::secs(3_600));
        for (a, b) in hours.iter().zip(&directly) {
            let (Record::Delay(a), Record::Delay(b)) = (a, b) else {
                unreachable!("nothing else was put in");
            };
            assert_eq!(
                (a.verdict, a.sustained_ms, a.standing_p95_ms),
                (b.verdict, b.sustained_ms, b.standing_p95_ms)
            );
        }
    }

    #[test]
    fn medians_are_weighted_by_the_time_that_a_queue_stood() {
        let joined = thin(
            vec![delay(0, 30.0, 100.0), delay(1, 10.0, 20.0)],
            Delta::secs(600),
        );
        let [Record::Delay(one)] = &joined[..] else {
            panic!("{joined:?}");
        };
        assert_eq!(
            (one.standing_p50_ms, one.standing_p95_ms),
            (Some(80.0), Some(105.0))
        );
    }

    #[test]
    fn days_grow_coarser_and_vanish() {
        let retention = Retention::default();
        let ages = [-3, 0, 7, 8, 34, 35, 399, 400].map(|days| retention.age(days));
        use Age::{Deleted, Full, Hours, TenMinutes};
        assert_eq!(
            ages,
            [
                Full, Full, Full, TenMinutes, TenMinutes, Hours, Hours, Deleted
            ]
        );
    }
}
