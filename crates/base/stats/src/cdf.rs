//! Cumulative distributions, thin enough to plot.

use crate::LogHistogram;

/// A value and the share of all values that do not exceed it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CdfPoint {
    pub value: f64,
    pub share: f64,
}

/// A cumulative distribution function as steps in rising order; the last share is 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cdf {
    points: Vec<CdfPoint>,
}

impl Cdf {
    /// All steps of a sketch, with the sketch's own error in the values and none in the shares.
    pub fn of(histogram: &LogHistogram) -> Cdf {
        Cdf::from_steps(&histogram.steps())
    }

    /// From values in rising order, each with how many values (or how much weight) do not exceed it.
    pub fn from_steps(steps: &[(f64, u64)]) -> Cdf {
        let total = steps.last().map_or(0, |last| last.1) as f64;
        let points = steps.iter().map(|&(value, cumulated)| CdfPoint {
            value,
            share: cumulated as f64 / total,
        });
        Cdf {
            points: points.collect(),
        }
    }

    pub fn points(&self) -> &[CdfPoint] {
        &self.points
    }

    /// The share of values that are at most `x`; 0 for an empty distribution.
    pub fn share_at_most(&self, x: f64) -> f64 {
        let after = self.points.partition_point(|p| p.value <= x);
        after.checked_sub(1).map_or(0.0, |i| self.points[i].share)
    }

    /// At most `2 * parts + 2` points of this distribution. Both ends stay, and between two points that
    /// stay lies at most a share of 1/`parts` beyond what one single value holds: a curve drawn
    /// through them is never further from the truth than that.
    pub fn thinned(&self, parts: usize) -> Cdf {
        let step = 1.0 / parts as f64;
        let mut points: Vec<CdfPoint> = Vec::with_capacity((2 * parts).min(self.points.len()) + 2);
        for (i, &point) in self.points.iter().enumerate() {
            let next = self.points.get(i + 1);
            let due = match (points.last(), next) {
                (None, _) | (_, None) => true,
                (Some(kept), Some(after)) => after.share - kept.share > step,
            };
            if due {
                points.push(point);
            }
        }
        Cdf { points }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(n: u32) -> Cdf {
        let mut h = LogHistogram::new();
        (1..=n).for_each(|i| h.record(f64::from(i)));
        Cdf::of(&h)
    }

    #[test]
    fn a_uniform_distribution_is_a_straight_line() {
        for point in uniform(10_000).points() {
            assert!((point.share - point.value / 1e4).abs() < 0.009, "{point:?}");
        }
        assert_eq!(uniform(10).share_at_most(5.0), 0.5);
        assert_eq!(uniform(10).share_at_most(0.5), 0.0);
    }

    #[test]
    fn thinning_keeps_the_ends_and_the_stated_distance() {
        let full = uniform(100_000);
        let thin = full.thinned(50);
        assert!(thin.points().len() <= 102, "{}", thin.points().len());
        assert_eq!(thin.points().first(), full.points().first());
        assert_eq!(thin.points().last(), full.points().last());
        let largest_step = |cdf: &Cdf| {
            let gaps = cdf.points().windows(2).map(|w| w[1].share - w[0].share);
            gaps.fold(0.0, f64::max)
        };
        assert!(largest_step(&thin) <= largest_step(&full).max(1.0 / 50.0));
    }

    #[test]
    fn an_empty_distribution_has_no_points() {
        assert_eq!(Cdf::of(&LogHistogram::new()), Cdf::default());
        assert_eq!(Cdf::default().thinned(10), Cdf::default());
    }
}
