//! How much a line varies.

/// Of the mean and of the deviation, at each look (50 a second): about one second and two.
const MEAN: f64 = 0.02;
const DEVIATION: f64 = 0.01;
/// A mean deviation by this share is that of a line that varies much: recorded LTE lines have 0.17 to 0.6 over 100 ms, one of 20 Mbit/s that
/// stands still 0.01 to 0.09.
const MUCH: f64 = 0.25;

/// Mean absolute deviation from a mean that slides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variation {
    seen: Option<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    mean: f64,
    deviation: f64,
}

impl Variation {
    /// What the line carried of late, while it was full.
    pub(crate) fn see(&mut self, carried: f64) {
        // Until more is known it is taken to vary.
        let seen = self.seen.get_or_insert(Seen {
            mean: carried,
            deviation: carried,
        });
        seen.mean += (carried - seen.mean) * MEAN;
        seen.deviation += ((carried - seen.mean).abs() - seen.deviation) * DEVIATION;
    }

    /// 0: it stands still; 1: it varies much.
    pub(crate) fn share(&self) -> f64 {
        let relative = self
            .seen
            .map_or(1.0, |seen| seen.deviation / seen.mean.max(1.0));
        (relative / MUCH).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seen: impl Iterator<Item = f64>) -> f64 {
        let mut variation = Variation::default();
        seen.for_each(|carried| variation.see(carried));
        variation.share()
    }

    #[test]
    fn a_line_is_taken_to_vary_until_it_is_seen_to_stand_still() {
        assert_eq!(Variation::default().share(), 1.0);
        assert_eq!(after([5e6; 20].into_iter()), 1.0);
        assert!(after([5e6; 1_000].into_iter()) < 0.01);
    }

    #[test]
    fn what_counts_is_the_deviation_in_proportion() {
        let swings = |share: f64| {
            let swing = move |k: i32| 8e6 * (1.0 + share * f64::from(k / 10 % 2 * 2 - 1));
            after((0..3_000).map(swing))
        };
        assert!((swings(0.1) - 0.4).abs() < 0.03, "{}", swings(0.1));
        assert_eq!(swings(0.4), 1.0);
    }
}
