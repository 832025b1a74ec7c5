//! Distributions as papers print them: some quantiles, and how heavy the tail is.

/// A positive quantity by its quantiles; between two of them its logarithm is linear in the probability.
#[derive(Clone, Copy, Debug)]
pub struct Quantiles<'a>(
    /// Probability and value, both rising; the first at 0 and the last at 1.
    pub &'a [(f64, f64)],
);

impl Quantiles<'_> {
    /// The value that a share `u` of all values does not exceed.
    pub fn at(self, u: f64) -> f64 {
        let next = self.0.partition_point(|(p, _)| *p < u);
        let next = next.clamp(1, self.0.len() - 1);
        let ((p0, v0), (p1, v1)) = (self.0[next - 1], self.0[next]);
        let part = ((u - p0) / (p1 - p0)).clamp(0.0, 1.0);
        (v0.ln() + part * (v1.ln() - v0.ln())).exp()
    }

    /// The share of values up to `value`.
    pub fn share_at_most(self, value: f64) -> f64 {
        let next = self.0.partition_point(|(_, v)| *v < value);
        let next = next.clamp(1, self.0.len() - 1);
        let ((p0, v0), (p1, v1)) = (self.0[next - 1], self.0[next]);
        let part = (value.ln() - v0.ln()) / (v1.ln() - v0.ln());
        p0 + part.clamp(0.0, 1.0) * (p1 - p0)
    }

    /// Integral of the quantile function: the mean, if the quantiles go from 0 to 1.
    fn integral(self) -> f64 {
        let pieces = self.0.windows(2);
        let pieces = pieces.map(|w| (w[1].0 - w[0].0) * log_mean(w[0].1, w[1].1));
        pieces.sum()
    }
}

/// Mean of a quantity between `a` and `b` whose logarithm is uniform.
fn log_mean(a: f64, b: f64) -> f64 {
    if b > a { (b - a) / (b / a).ln() } else { a }
}

/// Sizes of which some are zero, most are small, and a few hold most of the sum.
#[derive(Clone, Debug)]
pub struct Sizes {
    body: &'static [(f64, f64)],
    /// Exponent of the bounded Pareto distribution beyond the body.
    alpha: f64,
    most: f64,
}

impl Sizes {
    /// `body` begins at the share of zeros and ends at the share of sizes that are not heavy hitters; above, sizes up to `most`
    /// follow a Pareto distribution whose exponent gives heavy hitters `heavy_share` of the sum.
    pub fn new(body: &'static [(f64, f64)], heavy_share: f64, most: f64) -> Sizes {
        let (end, least) = body[body.len() - 1];
        let light = Quantiles(body).integral();
        let mean = light * heavy_share / (1.0 - heavy_share) / (1.0 - end);
        let (mut low, mut high) = (0.01, 10.0);
        for _ in 0..60 {
            let alpha = (low + high) / 2.0;
            if pareto_mean(alpha, least, most) > mean {
                low = alpha;
            } else {
                high = alpha;
            }
        }
        Sizes {
            body,
            alpha: low,
            most,
        }
    }

    /// The size that a share `u` of all sizes does not exceed.
    pub fn at(&self, u: f64) -> f64 {
        let (zeros, _) = self.body[0];
        let (end, least) = self.body[self.body.len() - 1];
        if u < zeros {
            0.0
        } else if u < end {
            Quantiles(self.body).at(u)
        } else {
            let v = ((u - end) / (1.0 - end)).min(1.0);
            let ratio = (least / self.most).powf(self.alpha);
            least * (1.0 - v * (1.0 - ratio)).powf(-1.0 / self.alpha)
        }
    }

    /// Mean of all sizes, zeros included.
    pub fn mean(&self) -> f64 {
        let (end, least) = self.body[self.body.len() - 1];
        let heavy = pareto_mean(self.alpha, least, self.most);
        Quantiles(self.body).integral() + (1.0 - end) * heavy
    }
}

/// Mean of the Pareto distribution with exponent `alpha` between `least` and `most`.
fn pareto_mean(alpha: f64, least: f64, most: f64) -> f64 {
    let ratio = most / least;
    if (alpha - 1.0).abs() < 1e-6 {
        return least * ratio.ln() / (1.0 - 1.0 / ratio);
    }
    let scale = alpha / (alpha - 1.0) / (1.0 - ratio.powf(-alpha));
    least * scale * (1.0 - ratio.powf(1.0 - alpha))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[(f64, f64)] = &[(0.1, 100.0), (0.9, 10_000.0), (0.99, 1e6)];

    #[test]
    fn quantiles_are_met_and_between_them_the_logarithm_is_linear() {
        let q = Quantiles(&[(0.0, 10.0), (0.5, 100.0), (1.0, 1_000.0)]);
        for (u, value) in [(0.0, 10.0), (0.25, 31.62), (0.5, 100.0), (1.0, 1_000.0)] {
            assert!((q.at(u) / value - 1.0).abs() < 1e-3);
            assert!((q.share_at_most(value) - u).abs() < 1e-3);
        }
    }

    #[test]
    fn heavy_hitters_hold_their_share_of_the_sum() {
        let sizes = Sizes::new(BODY, 0.617, 1e8);
        let draws: Vec<f64> = (0..1_000_000)
            .map(|i| sizes.at((f64::from(i) + 0.5) / 1e6))
            .collect();
        let sum: f64 = draws.iter().sum();
        let heavy: f64 = draws.iter().filter(|size| **size > 1e6).sum();
        assert!((heavy / sum - 0.617).abs() < 2e-3, "{}", heavy / sum);
        assert!((sum / 1e6 / sizes.mean() - 1.0).abs() < 2e-3);
        assert_eq!(draws.iter().filter(|size| **size == 0.0).count(), 100_000);
    }
}
