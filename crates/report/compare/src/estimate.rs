//! A value and how well it is known, and differences between two such.
//!
//! # References
//! Student's t for means of repeats and, with blocks of time as repeats, for means of courses (Schmeiser, Operations Research
//! 1982: batch means). Wilson (1927) for shares. Differences of two values with intervals of any kind: MOVER, Zou and Donner,
//! Statistics in Medicine 2008. All intervals have 95 % confidence.

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use unbloat_units::named;

/// The normal distribution's 97.5 % quantile.
pub(crate) const Z: f64 = 1.959_963_985;

/// Larger values are taken for damage.
const LARGEST: f64 = 1e100;

/// Whether a value can be reckoned with.
pub(crate) fn is_number(value: f64) -> bool {
    value.abs() <= LARGEST
}

named! {
    /// Where the knowledge of a value's noise comes from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Noise {
        /// From repeats with the same seeds in both runs, as differences of pairs.
        Pairs = "pairs",
        /// From repeats of both runs.
        Repeats = "repeats",
        /// From the repeats of one run, taken to hold for the single run of the other.
        OneSide = "one_side",
        /// From independent things counted in a run: flows, look-ups.
        Samples = "samples",
        /// From blocks of time within each run.
        Blocks = "blocks",
        /// Nothing tells: single values.
        Unknown = "unknown",
    }
}

/// A value, and the interval in which the true one lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub interval: Option<[f64; 2]>,
    /// Values that it rests on.
    pub count: u64,
    pub noise: Noise,
}

/// B less A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) value: f64,
    pub(crate) interval: Option<[f64; 2]>,
    pub(crate) noise: Noise,
}

impl Estimate {
    pub(crate) fn single(value: f64, count: u64) -> Estimate {
        Estimate {
            value,
            interval: None,
            count,
            noise: Noise::Unknown,
        }
    }

    pub(crate) fn new(
        value: f64,
        interval: Option<[f64; 2]>,
        count: u64,
        noise: Noise,
    ) -> Estimate {
        let interval = interval.filter(|ends| ends.iter().all(|end| is_number(*end)));
        let noise = interval.map_or(Noise::Unknown, |_| noise);
        Estimate {
            value,
            interval,
            count,
            noise,
        }
    }

    /// Mean of repeats.
    pub(crate) fn of_repeats(values: &[f64]) -> Estimate {
        let mean = mean(values);
        let half = deviation(values, mean)
            .map(|deviation| t(values.len() - 1) * deviation / (values.len() as f64).sqrt());
        let interval = half.map(|half| [mean - half, mean + half]);
        Estimate::new(mean, interval, values.len() as u64, Noise::Repeats)
    }

    /// `part` of `whole`, by Wilson.
    pub(crate) fn of_share(part: u64, whole: u64) -> Estimate {
        let (n, share) = (whole as f64, part as f64 / whole as f64);
        let centre = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let half =
            Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        let interval = [(centre - half).max(0.0), (centre + half).min(1.0)];
        Estimate::new(share, Some(interval), whole, Noise::Samples)
    }
}

/// MOVER: each end from the ends that lie towards it.
pub(crate) fn difference(a: &Estimate, b: &Estimate) -> Difference {
    let value = b.value - a.value;
    let interval = a.interval.zip(b.interval).map(|([la, ua], [lb, ub])| {
        let down = (b.value - lb).hypot(ua - a.value);
        let up = (ub - b.value).hypot(a.value - la);
        [value - down, value + up]
    });
    Difference {
        value,
        interval,
        noise: interval.map_or(Noise::Unknown, |_| a.noise.max(b.noise)),
    }
}

/// The difference of two means, each of values with their seeds in rising order. Equal seeds make pairs; where one run has no
/// repeats, the other's spread is taken for its own.
pub(crate) fn difference_of_repeats(a: &[(u64, f64)], b: &[(u64, f64)]) -> Difference {
    let seeds = |side: &[(u64, f64)]| side.iter().map(|(seed, _)| *seed).collect::<Vec<_>>();
    let values = |side: &[(u64, f64)]| side.iter().map(|(_, value)| *value).collect::<Vec<_>>();
    let (of_a, of_b) = (values(a), values(b));
    if a.len() > 1 && seeds(a) == seeds(b) {
        let pairs: Vec<f64> = of_a
            .iter()
            .zip(&of_b)
            .map(|(left, right)| right - left)
            .collect();
        let paired = Estimate::of_repeats(&pairs);
        return Difference {
            value: paired.value,
            interval: paired.interval,
            noise: Noise::Pairs,
        };
    }
    let (mut left, mut right) = (Estimate::of_repeats(&of_a), Estimate::of_repeats(&of_b));
    match (a.len(), b.len()) {
        (2.., 1) => right.interval = around(right.value, &of_a),
        (1, 2..) => left.interval = around(left.value, &of_b),
        _ => return difference(&left, &right),
    }
    Difference {
        noise: Noise::OneSide,
        ..difference(&left, &right)
    }
}

/// Where a single value would lie that has the spread of `others`.
fn around(value: f64, others: &[f64]) -> Option<[f64; 2]> {
    let half = t(others.len() - 1) * deviation(others, mean(others))?;
    Some([value - half, value + half]).filter(|ends| ends.iter().all(|end| is_number(*end)))
}

fn mean(values: &[f64]) -> f64 {
    // Of equal values exactly that value, which a rounded sum may miss.
    match values.split_first() {
        Some((first, rest)) if rest.iter().all(|value| value == first) => *first,
        _ => values.iter().sum::<f64>() / values.len() as f64,
    }
}

fn deviation(values: &[f64], mean: f64) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The 97.5 % quantile of Student's t.
pub(crate) fn t(freedom: usize) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom as f64) {
        Ok(student) if freedom < 1_000 => student.inverse_cdf(0.975),
        _ => Z,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeded(values: &[f64]) -> Vec<(u64, f64)> {
        (1..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn intervals_of_repeats_are_those_of_students_t() {
        let estimate = Estimate::of_repeats(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let half = 2.776 * 1.5811 / 5_f64.sqrt();
        let [low, high] = estimate.interval.unwrap();
        assert!((high - 3.0 - half).abs() < 1e-3 && (3.0 - low - half).abs() < 1e-3);
        assert_eq!(Estimate::of_repeats(&[7.0]).noise, Noise::Unknown);
    }

    #[test]
    fn pairs_see_what_luck_hides() {
        let a = [10.0, 20.0, 30.0, 40.0];
        let b = a.map(|value| value + 1.0);
        let paired = difference_of_repeats(&seeded(&a), &seeded(&b));
        assert_eq!(
            (paired.noise, paired.interval),
            (Noise::Pairs, Some([1.0, 1.0]))
        );
        let others: Vec<_> = (11..).zip(b).collect();
        let unpaired = difference_of_repeats(&seeded(&a), &others);
        assert_eq!(unpaired.noise, Noise::Repeats);
        assert!(
            unpaired
                .interval
                .is_some_and(|[low, high]| low < 0.0 && high > 0.0)
        );
    }

    #[test]
    fn a_single_run_borrows_the_spread_of_the_others_repeats() {
        let a = seeded(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let found = difference_of_repeats(&a, &[(9, 3.0)]);
        // A prediction interval: t s sqrt(1 + 1/n).
        let half = 2.776 * 1.5811 * (1.0_f64 + 0.2).sqrt();
        assert!(
            found
                .interval
                .is_some_and(|[low, high]| (high - half).abs() < 2e-3 && (low + half).abs() < 2e-3)
        );
        assert_eq!(found.noise, Noise::OneSide);
    }

    #[test]
    fn shares_have_wilsons_interval() {
        let [low, high] = Estimate::of_share(1, 10).interval.unwrap();
        assert!(
            (low - 0.0179).abs() < 1e-3 && (high - 0.4042).abs() < 1e-3,
            "{low} {high}"
        );
        assert_eq!(Estimate::of_share(0, 5).value, 0.0);
    }
}
