//! Quantiles of samples that are all at hand.

use unbloat_units::Delta;

/// The `q` quantile, 0 to 1, between neighbours in proportion (Hyndman and Fan 1996, definition 7: that of R, NumPy and Excel).
/// Reorders the samples; none of none.
pub fn quantile(samples: &mut [Delta], q: f64) -> Option<Delta> {
    let last = samples.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let (_, &mut low, above) = samples.select_nth_unstable(below);
    let high = above.iter().min().copied().unwrap_or(low);
    let share = position - below as f64;
    Some(low + Delta::ns(((high - low).as_ns() as f64 * share).round() as i64))
}

/// The same of plain numbers.
pub fn quantile_of(samples: &mut [f64], q: f64) -> Option<f64> {
    let last = samples.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let (_, &mut low, above) = samples.select_nth_unstable_by(below, f64::total_cmp);
    let high = above.iter().copied().reduce(f64::min).unwrap_or(low);
    Some(low + (high - low) * (position - below as f64))
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
            assert_eq!(quantile(&mut all.clone(), q), Some(Delta::us(us)), "{q}");
        }
        assert_eq!(quantile(&mut [], 0.5), None);
    }
}
