//! Distributions: quantiles with intervals, and tests of whether two are alike.
//!
//! # References
//! Intervals of quantiles from the shares below them: Woodruff, JASA 1952; with blocks of time as clusters where values that
//! follow each other are alike (Francisco and Fuller, Annals of Statistics 1991). Kolmogorov and Smirnov's distance with the
//! approximation of Stephens (JRSS B 1970). Mann and Whitney's U with its correction for ties; told as Cliff's delta.
//!
//! Values come out of sketches, so all of it is exact to a sketch's bucket: 0.8 % of a value.

use crate::estimate::{Estimate, Noise, Z, t};
use statrs::function::erf::erfc;
use unbloat_stats::LogHistogram;

/// Blocks of time that an interval needs.
pub(crate) const FEWEST_BLOCKS: usize = 8;

/// A quantile of values that are independent of each other.
pub(crate) fn quantile(values: &LogHistogram, q: f64) -> Option<Estimate> {
    let count = values.count();
    let half = Z * (q * (1.0 - q) / count as f64).sqrt();
    let value = values.quantile(q)?;
    Some(Estimate::new(
        value,
        between(values, q, half),
        count,
        Noise::Samples,
    ))
}

/// A quantile of a course over time, with the share below it told by each of its blocks.
pub(crate) fn quantile_of_blocks(
    all: &LogHistogram,
    blocks: &[&LogHistogram],
    q: f64,
) -> Option<Estimate> {
    let (value, count) = (all.quantile(q)?, all.count());
    let below = |block: &&LogHistogram| {
        let share = block.share_at_most(value).unwrap_or(0.0);
        (share * block.count() as f64, block.count() as f64)
    };
    let half = half_of_blocks(blocks.iter().map(below));
    let interval = half.and_then(|half| between(all, q, half));
    Some(Estimate::new(value, interval, count, Noise::Blocks))
}

/// Mean of a course over time from the (sum, count) of each of its blocks.
pub(crate) fn mean_of_blocks(blocks: &[(f64, f64)]) -> Option<Estimate> {
    let count: f64 = blocks.iter().map(|(_, count)| count).sum();
    if count == 0.0 {
        return None;
    }
    let mean = blocks.iter().map(|(sum, _)| sum).sum::<f64>() / count;
    let half = half_of_blocks(blocks.iter().copied());
    let interval = half.map(|half| [mean - half, mean + half]);
    Some(Estimate::new(mean, interval, count as u64, Noise::Blocks))
}

/// Half width of the interval of a ratio of sums over blocks.
fn half_of_blocks(blocks: impl Iterator<Item = (f64, f64)> + Clone) -> Option<f64> {
    let number = blocks.clone().count();
    if number < FEWEST_BLOCKS {
        return None;
    }
    let (parts, wholes) = blocks
        .clone()
        .fold((0.0, 0.0), |(part, whole), (p, w)| (part + p, whole + w));
    let ratio = parts / wholes;
    let squares: f64 = blocks
        .map(|(part, whole)| (part - ratio * whole).powi(2))
        .sum();
    let variance = squares / wholes.powi(2) * number as f64 / (number - 1) as f64;
    Some(t(number - 1) * variance.sqrt())
}

/// The values at the shares `q` ± `half`; none where one of them would lie beyond all values.
fn between(values: &LogHistogram, q: f64, half: f64) -> Option<[f64; 2]> {
    let is_within = q - half > 0.0 && q + half < 1.0;
    let ends = values.quantiles([q - half, q + half]);
    ends.filter(|_| is_within)
}

/// Whether two distributions are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Likeness {
    /// Largest distance between the two distribution functions.
    pub(crate) ks: f64,
    /// How often chance alone makes them so far apart.
    pub(crate) ks_p: f64,
    /// How often a value of B exceeds one of A, less how often it is the other way round: -1 to 1.
    pub(crate) delta: f64,
    pub(crate) mw_p: f64,
}

pub(crate) fn likeness(a: &LogHistogram, b: &LogHistogram) -> Option<Likeness> {
    let (steps_a, steps_b) = (a.steps(), b.steps());
    let (na, nb) = (steps_a.last()?.1 as f64, steps_b.last()?.1 as f64);
    let mut values: Vec<f64> = steps_a.iter().chain(&steps_b).map(|step| step.0).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (mut ks, mut b_wins, mut a_wins, mut ties) = (0.0_f64, 0.0, 0.0, 0.0);
    let (mut at_a, mut at_b) = (Cumulated::default(), Cumulated::default());
    for value in values {
        let (before_a, here_a) = at_a.pass(&steps_a, value);
        let (before_b, here_b) = at_b.pass(&steps_b, value);
        b_wins += here_b * before_a + here_b * here_a / 2.0;
        a_wins += here_a * before_b + here_a * here_b / 2.0;
        let tied = here_a + here_b;
        ties += tied * (tied * tied - 1.0);
        ks = ks.max(((before_a + here_a) / na - (before_b + here_b) / nb).abs());
    }
    let n = na + nb;
    let variance = na * nb / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    let z = (b_wins - a_wins) / 2.0 / variance.sqrt();
    Some(Likeness {
        ks,
        ks_p: kolmogorov(ks, na * nb / n),
        delta: (b_wins - a_wins) / (na * nb),
        mw_p: if variance > 0.0 {
            erfc(z.abs() / std::f64::consts::SQRT_2)
        } else {
            1.0
        },
    })
}

/// Walks along the steps of a distribution.
#[derive(Default)]
struct Cumulated {
    next: usize,
    so_far: u64,
}

impl Cumulated {
    /// How many values lie below `value`, and how many are it; values come in rising order.
    fn pass(&mut self, steps: &[(f64, u64)], value: f64) -> (f64, f64) {
        let before = self.so_far;
        if let Some(&(here, cumulated)) = steps.get(self.next)
            && here == value
        {
            self.next += 1;
            self.so_far = cumulated;
        }
        (before as f64, (self.so_far - before) as f64)
    }
}

/// How often chance alone gives so large a distance, with `n` = ab/(a+b) values.
fn kolmogorov(distance: f64, n: f64) -> f64 {
    let lambda = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * distance;
    if lambda < 0.2 {
        return 1.0;
    }
    let terms = (1..=100).map(|k| {
        let k = f64::from(k);
        let sign = if k % 2.0 == 1.0 { 2.0 } else { -2.0 };
        sign * (-2.0 * k * k * lambda * lambda).exp()
    });
    terms.sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> LogHistogram {
        let mut histogram = LogHistogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn the_interval_of_a_median_lies_at_its_order_statistics() {
        let found = quantile(&of((1..=50).map(f64::from)), 0.5).unwrap();
        // 25 ± 1.96 * sqrt(12.5) = 18.07 .. 31.93
        assert_eq!((found.value, found.interval), (25.0, Some([19.0, 32.0])));
        assert_eq!(quantile(&of([1.0, 2.0, 3.0]), 0.95).unwrap().interval, None);
    }

    #[test]
    fn likeness_agrees_with_a_reckoning_by_hand() {
        // B wins 33 of 36 pairs; the variance of that is 6 * 6 * 13 / 12 = 39, so z = (33 - 18) / sqrt(39) = 2.40.
        let found = likeness(
            &of((1..=6).map(f64::from)),
            &of([4.5, 5.5, 7.0, 8.0, 9.0, 10.0]),
        )
        .unwrap();
        assert!((found.delta - 30.0 / 36.0).abs() < 1e-9, "{found:?}");
        assert!((found.mw_p - 0.0163).abs() < 1e-4, "{found:?}");
        assert!((found.ks - 4.0 / 6.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_distribution_is_like_itself() {
        let values = of((1..=500).map(|i| f64::from(i * i % 97)));
        let found = likeness(&values, &values).unwrap();
        assert_eq!((found.ks, found.delta), (0.0, 0.0));
        assert!(found.ks_p > 0.99 && found.mw_p > 0.99);
        assert!(likeness(&values, &LogHistogram::new()).is_none());
    }

    #[test]
    fn blocks_that_differ_widen_the_interval() {
        let blocks: Vec<LogHistogram> = (0..16)
            .map(|block| of((0..100).map(|i| f64::from(block % 4 * 100 + i))))
            .collect();
        let mut all = LogHistogram::new();
        blocks.iter().for_each(|block| all.merge(block));
        let refs: Vec<_> = blocks.iter().collect();
        let width = |estimate: Option<Estimate>| {
            let [low, high] = estimate.unwrap().interval.unwrap();
            high - low
        };
        let clustered = width(quantile_of_blocks(&all, &refs, 0.5));
        assert!(clustered > 5.0 * width(quantile(&all, 0.5)), "{clustered}");
        assert_eq!(
            quantile_of_blocks(&all, &refs[..3], 0.5).unwrap().interval,
            None
        );
    }
}
