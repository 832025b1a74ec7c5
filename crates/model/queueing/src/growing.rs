//! A list of probabilities up to a common factor, each computed from those before.

/// Beyond it all values are divided by it: above load 1 they grow by a factor at each place, and
/// would overflow after some thousand places.
const LARGE: f64 = 1e200;

/// Values that may grow without overflow; what becomes too small beside the largest is 0.
pub(crate) struct Growing {
    values: Vec<f64>,
    /// The first that is not yet 0: those before it need no more dividing.
    live: usize,
}

impl Growing {
    pub(crate) fn from_one(places: usize) -> Growing {
        let mut values = Vec::with_capacity(places);
        values.push(1.0);
        Growing { values, live: 0 }
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(crate) fn push(&mut self, next: f64) {
        self.values.push(next);
        if next > LARGE {
            let live = &mut self.values[self.live..];
            live.iter_mut().for_each(|value| *value /= LARGE);
            self.live += live.iter().take_while(|value| **value == 0.0).count();
        }
    }

    pub(crate) fn into_values(self) -> Vec<f64> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    #[test]
    fn ratios_stay_and_nothing_overflows() {
        for factor in [0.9_f64, 1.3, 1e43] {
            let mut list = Growing::from_one(100_000);
            for _ in 1..100_000 {
                list.push(list.values()[list.values().len() - 1] * factor);
            }
            let values = list.into_values();
            assert!(values.iter().all(|v| v.is_finite() && *v >= 0.0));
            let pairs = values.windows(2).filter(|pair| pair[0] > 1e-300);
            pairs.for_each(|pair| assert_close(pair[1] / pair[0], factor, 1e-15));
        }
    }
}
