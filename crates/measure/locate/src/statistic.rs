//! Statistics that a few odd values do not move.

pub(crate) use unbloat_stats::quantile;
use unbloat_units::Delta;

pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    quantile(values, 0.5)
}

pub(crate) fn from_ms(ms: f64) -> Delta {
    Delta::from_secs_f64(ms / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_lie_between_neighbours() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [7.0]), Some(7.0));
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }
}
