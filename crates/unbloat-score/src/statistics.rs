//! Plain figures over samples.

/// The value that `share` of the samples do not exceed (nearest rank); `None` of none.
pub(crate) fn quantile(samples: &mut [f64], share: f64) -> Option<f64> {
    samples.sort_unstable_by(f64::total_cmp);
    let rank = (share * samples.len() as f64).ceil() as usize;
    samples.get(rank.max(1) - 1).copied()
}

pub(crate) fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

/// `None` of nothing.
pub(crate) fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        let mut samples = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(quantile(&mut samples, 0.5), Some(3.0));
        assert_eq!(quantile(&mut samples, 0.95), Some(5.0));
        assert_eq!(quantile(&mut samples, 0.0), Some(1.0));
        assert_eq!(quantile(&mut [], 0.5), None);
    }
}
