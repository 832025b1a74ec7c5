//! Statistics that a few odd values do not move.

/// The value below which the share `q` of all lies, between neighbours by their distance; None of none.
pub(crate) fn quantile(values: &mut [f64], q: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let (_, &mut low, above) = values.select_nth_unstable_by(at as usize, f64::total_cmp);
    let next = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    Some(low + (next - low) * at.fract())
}

pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [7.0]), Some(7.0));
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(
            quantile(&mut [40.0, 10.0, 30.0, 20.0, 50.0], 0.25),
            Some(20.0)
        );
        assert_eq!(quantile(&mut [1.0, 2.0], 1.0), Some(2.0));
    }
}
