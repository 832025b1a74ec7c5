//! Named results, and the few ways to sum up many samples.

use unbloat_units::{Delta, Time};

/// A result with its unit in its name: `goodput_bps`, `load_time_p50_ms`, `mos`.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub name: String,
    pub value: f64,
}

impl Metric {
    pub fn new(name: impl Into<String>, value: f64) -> Metric {
        Metric {
            name: name.into(),
            value,
        }
    }
}

/// Samples of a span of time, each with the time at which it was taken. Kept whole: a workload has thousands, not
/// millions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    samples: Vec<(Time, Delta)>,
}

impl Spans {
    pub(crate) fn push(&mut self, at: Time, span: Delta) {
        self.samples.push((at, span));
    }

    /// Samples taken from `from` on, smallest first.
    pub(crate) fn sorted(&self, from: Time) -> Vec<Delta> {
        let mut spans: Vec<_> = self
            .samples
            .iter()
            .filter(|(at, _)| *at >= from)
            .map(|(_, span)| *span)
            .collect();
        spans.sort_unstable();
        spans
    }

    /// `NAME_mean_ms`, `NAME_p50_ms`, `NAME_p95_ms`, `NAME_p99_ms`; nothing without samples.
    pub(crate) fn metrics(&self, name: &str, from: Time) -> Vec<Metric> {
        let spans = self.sorted(from);
        let Some(mean) = mean_ms(&spans) else {
            return Vec::new();
        };
        let mut metrics = vec![Metric::new(format!("{name}_mean_ms"), mean)];
        for percent in [50, 95, 99] {
            metrics.push(Metric::new(
                format!("{name}_p{percent}_ms"),
                quantile(&spans, percent).as_ms(),
            ));
        }
        metrics
    }
}

pub(crate) fn mean_ms(spans: &[Delta]) -> Option<f64> {
    (!spans.is_empty())
        .then(|| spans.iter().map(|span| span.as_ms()).sum::<f64>() / spans.len() as f64)
}

/// The smallest sample that at least `percent` of all do not exceed. `sorted` must not be empty.
pub(crate) fn quantile(sorted: &[Delta], percent: usize) -> Delta {
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples_by_nearest_rank() {
        let mut spans = Spans::default();
        for ms in (1..=200).rev() {
            spans.push(Time::from_ns(ms), Delta::ms(ms));
        }
        let names: Vec<_> = spans
            .metrics("rtt", Time::MIN)
            .into_iter()
            .map(|m| (m.name, m.value))
            .collect();
        let expected = [
            ("rtt_mean_ms", 100.5),
            ("rtt_p50_ms", 100.0),
            ("rtt_p95_ms", 190.0),
            ("rtt_p99_ms", 198.0),
        ];
        assert_eq!(
            names,
            expected.map(|(name, value)| (name.to_owned(), value))
        );
        assert_eq!(spans.sorted(Time::from_ns(150)).len(), 51);
    }
}
