//! The interrupted Poisson source of the paper's Figure 3 (a).

use crate::{Load, ModelError};

/// A source that is on and off for exponential times, and Poisson while it is on.
///
/// # Where the paper simplifies
/// It replaces the source by a Poisson source of the same mean, `lambda_eff = alpha lambda_on /
/// (alpha + beta)`. That holds if alpha is the rate from off to on; the text ("the transition rates
/// between on and off state are ...") reads as if it were the other one. Here it is said by mean
/// times instead, and cannot be mistaken. Only the mean is kept by the replacement. Without a limit
/// on the buffer the delay is exponential for both; its mean grows from `1/(1 - rho)` to `1/s` (see
/// [`crate::IppM1`]): at load 0.5, on and off for 10 transmission times each, from 2.0 to 4.3; for
/// 100 each, to 11.0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ipp {
    /// Arrivals per transmission time while on.
    peak: f64,
    /// Mean time on, in transmission times.
    on: f64,
    /// Mean time off, in transmission times.
    off: f64,
}

impl Ipp {
    /// A source of this mean load, on and off for these mean times (in transmission times).
    pub fn new(mean: Load, on: f64, off: f64) -> Result<Ipp, ModelError> {
        if !(on > 0.0 && on.is_finite() && off >= 0.0 && off.is_finite()) {
            return Err(ModelError::Source);
        }
        let peak = mean.get() * (on + off) / on;
        Ok(Ipp { peak, on, off })
    }

    /// Load while on (`lambda_on / mu`).
    pub const fn peak(&self) -> f64 {
        self.peak
    }

    /// Load of the Poisson source that the paper takes in its place (`lambda_eff / mu`).
    pub fn mean(&self) -> f64 {
        self.peak * self.on / (self.on + self.off)
    }

    /// Rate of going off; none for a source that is never off.
    pub(crate) fn to_off(self) -> f64 {
        if self.off > 0.0 { 1.0 / self.on } else { 0.0 }
    }

    /// Rate of coming back; any, for a source that is never off.
    pub(crate) fn to_on(self) -> f64 {
        if self.off > 0.0 { 1.0 / self.off } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, load};

    #[test]
    fn the_poisson_equivalent_has_the_mean_of_the_source() {
        let source = Ipp::new(load(0.95), 30.0, 70.0).expect("a source");
        assert_close(source.mean(), 0.95, 1e-15);
        assert_close(source.peak(), 0.95 / 0.3, 1e-15);
        // lambda_eff with alpha from off to on, beta from on to off.
        let (alpha, beta) = (source.to_on(), source.to_off());
        assert_close(alpha * source.peak() / (alpha + beta), 0.95, 1e-15);
    }

    #[test]
    fn spans_that_are_none_are_refused() {
        for (on, off) in [
            (0.0, 1.0),
            (1.0, -1.0),
            (f64::NAN, 1.0),
            (1.0, f64::INFINITY),
        ] {
            assert_eq!(Ipp::new(load(0.5), on, off), Err(ModelError::Source));
        }
    }
}
