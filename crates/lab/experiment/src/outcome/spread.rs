//! How much values vary.

/// Relative standard deviation of `count` values with this sum and sum of squares: as a fraction of their mean. None of fewer than
/// two values, or of values whose mean is zero.
pub(super) fn rsd(count: u64, sum: f64, squares: f64) -> Option<f64> {
    let mean = sum / count as f64;
    let variance = squares / count as f64 - mean * mean;
    (count > 1 && mean > 0.0).then(|| variance.max(0.0).sqrt() / mean)
}
