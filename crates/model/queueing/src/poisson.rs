//! Sums over the Poisson distribution, all of positive terms.

/// Terms smaller than this against the largest are left out of a mean.
const NEGLIGIBLE: f64 = 1e-25;

/// The mean of `value(N)` for N of Poisson's distribution; `value` lies between 0 and 1.
///
/// Weights are taken relative to the likeliest N and divided by their sum, so no factorial and no
/// exponential of a large number is needed. Absolute error about 1e-15.
pub(crate) fn expectation(mean: f64, value: impl Fn(usize) -> f64) -> f64 {
    let mode = mean.floor() as usize;
    let (mut total, mut sum) = (0.0, 0.0);
    let (mut n, mut weight) = (mode, 1.0);
    while weight > NEGLIGIBLE {
        total += weight;
        sum += weight * value(n);
        n += 1;
        weight *= mean / n as f64;
    }
    (n, weight) = (mode, 1.0);
    while n > 0 {
        weight *= n as f64 / mean;
        n -= 1;
        if weight <= NEGLIGIBLE {
            break;
        }
        total += weight;
        sum += weight * value(n);
    }
    sum / total
}

/// `P(N > k)` for k = 0, 1, ... until it is nothing (below 1e-40); means up to some hundreds.
pub(crate) fn upper_tails(mean: f64) -> Vec<f64> {
    let mut terms = Vec::new();
    let (mut n, mut term) = (0.0, (-mean).exp());
    while n <= mean || term > 1e-40 {
        terms.push(term);
        n += 1.0;
        term *= mean / n;
    }
    // From the far end, so that small tails are as exact as large ones.
    let mut tails = vec![0.0; terms.len()];
    for k in (1..terms.len()).rev() {
        tails[k - 1] = tails[k] + terms[k];
    }
    tails
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_tails_are_those_of_poisson() {
        for mean in [0.0, 0.3, 1.0, 17.5, 10_000.0] {
            let span = 10.0 * (mean + 100.0);
            let first = span * expectation(mean, |n| n as f64 / span);
            assert!(
                (first - mean).abs() <= 1e-12 * (1.0 + mean),
                "{mean}: {first}"
            );
        }
        let tails = upper_tails(1.0);
        assert!((tails[0] - (1.0 - (-1f64).exp())).abs() < 1e-15);
        // The tails of a count sum to its mean.
        for mean in [0.0, 0.95, 100.0] {
            let sum: f64 = upper_tails(mean).iter().sum();
            assert!((sum - mean).abs() <= 1e-13 * (1.0 + mean), "{mean}: {sum}");
        }
    }
}
