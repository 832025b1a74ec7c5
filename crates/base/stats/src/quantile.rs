//! Quantiles of samples that are all at hand: the definition of every percentile that is not of a sketch.

use std::cmp::Ordering;
use unbloat_units::Delta;

/// What has an order and values between two others.
pub trait Between: Copy {
    fn order(&self, other: &Self) -> Ordering;
    /// `share` of the way from this to `other`.
    fn towards(self, other: Self, share: f64) -> Self;
}

impl Between for f64 {
    fn order(&self, other: &f64) -> Ordering {
        self.total_cmp(other)
    }

    fn towards(self, other: f64, share: f64) -> f64 {
        self + (other - self) * share
    }
}

impl Between for Delta {
    fn order(&self, other: &Delta) -> Ordering {
        self.cmp(other)
    }

    fn towards(self, other: Delta, share: f64) -> Delta {
        self + Delta::ns(((other - self).as_ns() as f64 * share).round() as i64)
    }
}

/// The `q` quantile, 0 to 1, between neighbours in proportion (Hyndman and Fan 1996, definition 7: that of R, NumPy and Excel).
/// Reorders the samples; none of none.
pub fn quantile<T: Between>(samples: &mut [T], q: f64) -> Option<T> {
    let (below, share) = place(samples.len(), q)?;
    let (_, &mut low, above) = samples.select_nth_unstable_by(below, T::order);
    let high = above.iter().copied().min_by(T::order).unwrap_or(low);
    Some(low.towards(high, share))
}

/// The same of samples that are in order already.
pub fn quantile_of_sorted<T: Between>(samples: &[T], q: f64) -> Option<T> {
    let (below, share) = place(samples.len(), q)?;
    let low = samples[below];
    let high = samples.get(below + 1).copied().unwrap_or(low);
    Some(low.towards(high, share))
}

/// Behind which of the ordered samples the quantile lies, and which share of the way to the next one.
fn place(samples: usize, q: f64) -> Option<(usize, f64)> {
    let position = q.clamp(0.0, 1.0) * samples.checked_sub(1)? as f64;
    let below = position.floor();
    Some((below as usize, position - below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        // numpy.quantile([15, 20, 35, 40, 50], [0, .05, .3, .4, .5, 1])
        let all = [35, 50, 15, 40, 20].map(Delta::ms);
        for (q, us) in [
            (0.0, 15_000),
            (0.05, 16_000),
            (0.3, 23_000),
            (0.4, 29_000),
            (0.5, 35_000),
            (1.0, 50_000),
        ] {
            let mut samples = all;
            assert_eq!(quantile(&mut samples, q), Some(Delta::us(us)), "{q}");
            samples.sort();
            assert_eq!(quantile_of_sorted(&samples, q), Some(Delta::us(us)), "{q}");
            let mut numbers = all.map(Delta::as_ms);
            let found = quantile(&mut numbers, q).unwrap();
            assert!((found - us as f64 / 1e3).abs() < 1e-9, "{q}: {found}");
        }
        assert_eq!(quantile::<f64>(&mut [], 0.5), None);
        assert_eq!(quantile(&mut [7.0], 0.99), Some(7.0));
    }
}
