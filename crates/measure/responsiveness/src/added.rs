//! What load adds to delay.
//!
//! Quantiles are of time and not of packets: packets come late, in bursts and not at all just where there is much delay, and who
//! counts those that came thinks too well or too ill of the rest. So each series is read at equal steps of time, between two
//! packets in proportion, and left out where none came for long.
//!
//! # References
//! Moving blocks: Künsch 1989; in a circle, so that no sample counts less: Politis and Romano 1992.

use crate::fields::ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unbloat_params::defaults;
use unbloat_stats::quantile;
use unbloat_units::{Delta, Time};

/// Steps without a packet that are filled from those on both sides: so many, but where steps are long no more than what takes that time, or than three.
const LONGEST_GAP: i64 = 100;
const LONGEST_GAP_TIME: Delta = Delta::secs(1);
const LEAST_GAP: i64 = 3;
const LEAST_STEP: Delta = Delta::ms(1);

/// One delay and when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub at: Time,
    /// One way or there and back; what is constant in it cancels out.
    pub delay: Delta,
}

/// Delays of one direction in one stage, in order of time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Series<'a> {
    pub samples: &'a [Sample],
    /// Packets that were lost in this direction meanwhile: they have no delay, and are not in the quantiles.
    pub lost: u64,
}

/// What delay under load is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The median idle delay.
    Idle,
    /// A delay known otherwise, where the idle path was loaded by others.
    Floor(Delta),
}

defaults! {
    /// How intervals of confidence are made.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Spread {
        /// The same seed makes the same interval of the same samples.
        pub seed: u64 = 1;
        /// Series that are made of blocks of the measured one.
        pub resamples: usize = 200;
        /// Share of these that the interval holds.
        pub confidence: f64 = 0.95;
        /// Blocks a series. Queues of bulk flows rise and fall for seconds, so a block is a tenth of a stage and no fixed time.
        pub blocks: usize = 10;
    }
}

/// A number and where it would be found in so many of a hundred repetitions, as far as this one series tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    #[serde(rename = "ms", with = "ms")]
    #[schemars(with = "f64")]
    pub value: Delta,
    #[serde(rename = "low_ms", with = "ms")]
    #[schemars(with = "f64")]
    pub low: Delta,
    #[serde(rename = "high_ms", with = "ms")]
    #[schemars(with = "f64")]
    pub high: Delta,
}

/// Delay under load minus the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Added {
    pub p50: Estimate,
    pub p95: Estimate,
    pub p99: Estimate,
    pub mean: Estimate,
    pub max: Delta,
    /// Under load.
    pub samples: usize,
    /// Median without load, or the floor that stands for it.
    pub baseline: Delta,
    /// From the baseline to the 95th percentile without load: what is added by nobody's load.
    pub idle_spread: Delta,
    pub idle_samples: usize,
    /// Share lost under load.
    pub loss: f64,
    /// Share lost without.
    pub idle_loss: f64,
}

/// What the load added in one direction; none without samples of both.
pub fn added(
    idle: Series,
    loaded: Series,
    compared_with: Baseline,
    spread: &Spread,
) -> Option<Added> {
    let mut still = delays(idle);
    let baseline = compared_with.of(&mut still.clone())?;
    let of = Statistics::of(&mut delays(loaded), baseline)?;
    let resampled = resampled((&delays(idle), compared_with), &delays(loaded), spread);
    let estimate = |pick: fn(&Statistics) -> Delta| {
        let mut values: Vec<Delta> = resampled.iter().map(pick).collect();
        let outside = (1.0 - spread.confidence) / 2.0;
        let value = pick(&of);
        let low = quantile(&mut values, outside).unwrap_or(value);
        let high = quantile(&mut values, 1.0 - outside).unwrap_or(value);
        Estimate { value, low, high }
    };
    Some(Added {
        p50: estimate(|s| s.p50),
        p95: estimate(|s| s.p95),
        p99: estimate(|s| s.p99),
        mean: estimate(|s| s.mean),
        max: delays(loaded).into_iter().max()? - baseline,
        samples: loaded.samples.len(),
        baseline,
        idle_spread: quantile(&mut still, 0.95)? - baseline,
        idle_samples: idle.samples.len(),
        loss: loaded.loss(),
        idle_loss: idle.loss(),
    })
}

impl Baseline {
    fn of(self, idle: &mut [Delta]) -> Option<Delta> {
        match self {
            Baseline::Idle => quantile(idle, 0.5),
            Baseline::Floor(floor) => Some(floor),
        }
    }
}

impl Series<'_> {
    fn loss(&self) -> f64 {
        let all = self.lost + self.samples.len() as u64;
        self.lost as f64 / all.max(1) as f64
    }
}

/// At equal steps of time, each as long as the median time between two samples.
fn delays(series: Series) -> Vec<Delta> {
    let between = series.samples.windows(2);
    let mut gaps: Vec<Delta> = between
        .clone()
        .map(|pair| pair[1].at - pair[0].at)
        .collect();
    let step = quantile(&mut gaps, 0.5).unwrap_or_default().max(LEAST_STEP);
    let longest = (step * LONGEST_GAP).min(LONGEST_GAP_TIME.max(step * LEAST_GAP));
    let mut read = Vec::with_capacity(series.samples.len());
    let mut next = series
        .samples
        .first()
        .map_or(Time::from_ns(0), |first| first.at);
    for pair in between {
        let gap = pair[1].at - pair[0].at;
        if gap > longest {
            if next <= pair[0].at {
                read.push(pair[0].delay);
            }
            next = pair[1].at;
        }
        while next < pair[1].at {
            let share = (next - pair[0].at).as_secs() / gap.as_secs();
            let rise = (pair[1].delay - pair[0].delay).as_secs() * share;
            read.push(pair[0].delay + Delta::from_secs_f64(rise));
            next += step;
        }
    }
    read.extend(series.samples.last().map(|last| last.delay));
    read
}

/// Of one series, less a baseline.
#[derive(Clone, Copy, Debug)]
struct Statistics {
    p50: Delta,
    p95: Delta,
    p99: Delta,
    mean: Delta,
}

impl Statistics {
    fn of(delays: &mut [Delta], baseline: Delta) -> Option<Statistics> {
        let sum: i128 = delays.iter().map(|d| i128::from(d.as_ns())).sum();
        let count = i128::try_from(delays.len()).ok().filter(|&n| n > 0)?;
        Some(Statistics {
            p50: quantile(delays, 0.5)? - baseline,
            p95: quantile(delays, 0.95)? - baseline,
            p99: quantile(delays, 0.99)? - baseline,
            mean: Delta::ns((sum / count) as i64) - baseline,
        })
    }
}

/// Statistics of series that are put together from blocks of both.
fn resampled(
    (idle, compared_with): (&[Delta], Baseline),
    loaded: &[Delta],
    spread: &Spread,
) -> Vec<Statistics> {
    let mut rng = fastrand::Rng::with_seed(spread.seed);
    let mut buffer = Vec::with_capacity(idle.len().max(loaded.len()));
    let draws = (0..spread.resamples).filter_map(|_| {
        blocks(idle, spread.blocks, &mut rng, &mut buffer);
        let baseline = compared_with.of(&mut buffer)?;
        blocks(loaded, spread.blocks, &mut rng, &mut buffer);
        Statistics::of(&mut buffer, baseline)
    });
    draws.collect()
}

/// Fills `out` with as many values as there are in `from`: blocks from anywhere in it, round the end.
fn blocks(from: &[Delta], blocks: usize, rng: &mut fastrand::Rng, out: &mut Vec<Delta>) {
    out.clear();
    let count = from.len();
    let length = count.div_ceil(blocks.max(1));
    while out.len() < count {
        let start = rng.usize(..count);
        let block = from[start..].iter().chain(from);
        out.extend(block.take(length.min(count - out.len())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(delays_ms: impl IntoIterator<Item = f64>) -> Vec<Sample> {
        let delays = delays_ms.into_iter().enumerate();
        let sample = |(k, ms): (usize, f64)| Sample {
            at: Time::from_ns(k as i64 * 10_000_000),
            delay: Delta::from_secs_f64(ms / 1e3),
        };
        delays.map(sample).collect()
    }

    fn of(idle: &[Sample], loaded: &[Sample]) -> Added {
        let series = |samples| Series { samples, lost: 0 };
        added(
            series(idle),
            series(loaded),
            Baseline::Idle,
            &Spread::default(),
        )
        .unwrap()
    }

    #[test]
    fn constant_delays_add_a_constant_that_is_sure() {
        let added = of(&series([20.0; 100]), &series([180.0; 500]));
        let sure = Estimate {
            value: Delta::ms(160),
            low: Delta::ms(160),
            high: Delta::ms(160),
        };
        assert_eq!([added.p50, added.p95, added.p99, added.mean], [sure; 4]);
        assert_eq!(added.max, Delta::ms(160));
        assert_eq!(added.baseline, Delta::ms(20));
        assert_eq!(added.idle_spread, Delta::ZERO);
    }

    #[test]
    fn against_a_floor_the_load_of_others_does_not_count_as_idle() {
        let series = |samples| Series { samples, lost: 0 };
        let (idle, loaded) = (series_of_ms(190.0, 100), series_of_ms(200.0, 500));
        let floor = Baseline::Floor(Delta::ms(30));
        let added = added(series(&idle), series(&loaded), floor, &Spread::default()).unwrap();
        assert_eq!(added.p95.value, Delta::ms(170));
        assert_eq!(added.baseline, Delta::ms(30));
        assert_eq!(added.idle_spread, Delta::ms(160));
    }

    fn series_of_ms(ms: f64, count: usize) -> Vec<Sample> {
        series(std::iter::repeat_n(ms, count))
    }

    #[test]
    fn an_offset_of_the_clock_cancels_out() {
        let ramp = |offset: f64| (0..400).map(move |k| offset + f64::from(k % 97));
        let here = of(&series(ramp(5.0)), &series(ramp(90.0)));
        let there = of(&series(ramp(5.0 - 1e6)), &series(ramp(90.0 - 1e6)));
        assert_eq!(here.p99, there.p99);
        assert_eq!(here.mean, there.mean);
    }

    #[test]
    fn what_lasts_longest_counts_most_and_not_what_most_packets_met() {
        let mut samples = Vec::new();
        let mut at = Time::from_ns(0);
        // Of each second 400 ms in which 40 packets meet 10 ms, and 600 ms of 100 ms with 12 packets, of which some were lost.
        for second in 0..20 {
            let quick = (0..40).map(|k| (k * 10, 10));
            let slow = (0..12).map(|k| (400 + k * 50, 100));
            for (ms, delay) in quick.chain(slow) {
                at = Time::from_ns(0) + Delta::ms(second * 1_000 + ms);
                let delay = Delta::ms(delay);
                samples.push(Sample { at, delay });
            }
        }
        assert_eq!(at, Time::from_ns(0) + Delta::ms(19_950));
        let added = of(&series([0.0; 100]), &samples);
        assert_eq!(added.p50.value, Delta::ms(100));
        assert!(
            (60.0..66.0).contains(&added.mean.value.as_ms()),
            "{added:?}"
        );
    }

    #[test]
    fn a_long_time_without_packets_is_left_out() {
        let mut loaded = series([50.0; 200]);
        let late = series([150.0; 199]).into_iter();
        loaded.extend(late.map(|sample| Sample {
            at: sample.at + Delta::secs(60),
            ..sample
        }));
        let added = of(&series([0.0; 100]), &loaded);
        assert_eq!(added.p50.value, Delta::ms(50));
        assert!((added.mean.value.as_ms() - 100.0).abs() < 1.0, "{added:?}");
    }

    #[test]
    fn lost_packets_are_a_share_and_no_delay() {
        let (idle, loaded) = (series([10.0; 100]), series([10.0; 90]));
        let of = |samples, lost| Series { samples, lost };
        let added = added(
            of(&idle, 0),
            of(&loaded, 10),
            Baseline::Idle,
            &Spread::default(),
        )
        .unwrap();
        assert_eq!((added.idle_loss, added.loss), (0.0, 0.1));
        assert_eq!(added.p99.value, Delta::ZERO);
    }

    #[test]
    fn nothing_is_added_to_nothing() {
        let some = series([10.0; 10]);
        let of = |samples| Series { samples, lost: 3 };
        let spread = Spread::default();
        assert_eq!(added(of(&[]), of(&some), Baseline::Idle, &spread), None);
        assert_eq!(added(of(&some), of(&[]), Baseline::Idle, &spread), None);
        assert!(added(of(&some[..1]), of(&some[..1]), Baseline::Idle, &spread).is_some());
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_and_another_one_another() {
        let idle = series((0..200).map(|k| 10.0 + f64::from(k % 7)));
        let loaded = series((0..800).map(|k| 100.0 + f64::from(k % 93)));
        let with = |seed| {
            let spread = Spread {
                seed,
                ..Spread::default()
            };
            let of = |samples| Series { samples, lost: 0 };
            added(of(&idle), of(&loaded), Baseline::Idle, &spread).unwrap()
        };
        assert_eq!(with(1), with(1));
        assert_ne!(with(1).mean, with(2).mean);
        assert_eq!(with(1).mean.value, with(2).mean.value);
    }

    /// A queue that is correlated over a second: the interval must hold the true median about as often as it says.
    #[test]
    fn intervals_hold_the_truth_nearly_as_often_as_they_say() {
        let mut rng = fastrand::Rng::with_seed(11);
        let trials = 60;
        let held = (0..trials).filter(|_| {
            let mut state = 0.0;
            let mut step = |_| {
                let noise: f64 = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
                state = 0.97 * state + noise;
                100.0 + state
            };
            let loaded = series((0..1000).map(&mut step));
            let of = |samples| Series { samples, lost: 0 };
            let spread = Spread {
                resamples: 100,
                ..Spread::default()
            };
            let p50 = added(
                of(&series([20.0; 10])),
                of(&loaded),
                Baseline::Idle,
                &spread,
            )
            .unwrap()
            .p50;
            p50.low <= Delta::ms(80) && Delta::ms(80) <= p50.high
        });
        let share = held.count() as f64 / f64::from(trials);
        // Ten blocks are few: a little less than 95 of 100.
        assert!((0.80..=0.99).contains(&share), "{share}");
    }
}
