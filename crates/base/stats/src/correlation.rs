//! Pearson's correlation coefficient of a stream of pairs.

/// Streaming Pearson correlation.
///
/// Means and co-moments are updated pair by pair (Welford 1962) and merged as in Chan, Golub,
/// LeVeque (1979), so no large sums cancel. For correlations of logs the caller passes logs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Correlation {
    count: u64,
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Correlation {
    pub fn new() -> Correlation {
        Correlation::default()
    }

    /// Adds one pair; pairs that are not finite (the log of zero) are left out.
    pub fn record(&mut self, x: f64, y: f64) {
        if !(x.is_finite() && y.is_finite()) {
            return;
        }
        self.count += 1;
        let n = self.count as f64;
        let (dx, dy) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += dx / n;
        self.mean_y += dy / n;
        self.xx += dx * (x - self.mean_x);
        self.yy += dy * (y - self.mean_y);
        self.xy += dx * (y - self.mean_y);
    }

    pub fn merge(&mut self, other: &Correlation) {
        if other.count == 0 {
            return;
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let n = a + b;
        let (dx, dy) = (other.mean_x - self.mean_x, other.mean_y - self.mean_y);
        self.xx += other.xx + dx * dx * a * b / n;
        self.yy += other.yy + dy * dy * a * b / n;
        self.xy += other.xy + dx * dy * a * b / n;
        self.mean_x += dx * b / n;
        self.mean_y += dy * b / n;
        self.count += other.count;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Between -1 and 1; `None` below two pairs or when one side never varies.
    pub fn coefficient(&self) -> Option<f64> {
        let r = self.xy / (self.xx * self.yy).sqrt();
        (self.count >= 2 && r.is_finite()).then(|| r.clamp(-1.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Correlation {
        let mut c = Correlation::new();
        pairs.iter().for_each(|&(x, y)| c.record(x, y));
        c
    }

    #[test]
    fn it_equals_the_closed_formula() {
        // Anscombe's first quartet: r = 0.81642.
        let xs = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let ys = [
            8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68,
        ];
        let pairs: Vec<_> = xs.into_iter().zip(ys).collect();
        let r = of(&pairs).coefficient().unwrap();
        assert!((r - 0.816_42).abs() < 1e-5, "{r}");
        let far: Vec<_> = pairs.iter().map(|&(x, y)| (x + 1e9, y - 1e9)).collect();
        assert!((of(&far).coefficient().unwrap() - r).abs() < 1e-5);
    }

    #[test]
    fn merged_parts_equal_the_whole() {
        let pairs: Vec<_> = (0..100)
            .map(|i| (f64::from(i), f64::from(i * i % 37)))
            .collect();
        let whole = of(&pairs).coefficient().unwrap();
        for cut in [0, 1, 50, 100] {
            let mut merged = of(&pairs[..cut]);
            merged.merge(&of(&pairs[cut..]));
            assert!((merged.coefficient().unwrap() - whole).abs() < 1e-12);
        }
    }

    #[test]
    fn too_few_constant_or_infinite_pairs_give_no_number() {
        assert_eq!(of(&[(1.0, 2.0)]).coefficient(), None);
        assert_eq!(of(&[(1.0, 2.0), (1.0, 3.0)]).coefficient(), None);
        assert_eq!(of(&[(f64::NEG_INFINITY, 1.0)]).count(), 0);
    }
}
