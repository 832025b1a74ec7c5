//! Named results, and the few ways to sum up many samples.

use unbloat_stats::quantile;
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

    /// Tells all samples.
    pub(crate) fn each(&self, what: &'static str, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        for (at, span) in &self.samples {
            tell(what, *at, *span);
        }
    }

    /// Samples taken from `from` on.
    pub(crate) fn since(&self, from: Time) -> Vec<Delta> {
        let taken = self.samples.iter().filter(|(at, _)| *at >= from);
        taken.map(|(_, span)| *span).collect()
    }

    /// `NAME_mean_ms`, `NAME_p50_ms`, `NAME_p95_ms`, `NAME_p99_ms`; nothing without samples.
    pub(crate) fn metrics(&self, name: &str, from: Time) -> Vec<Metric> {
        let mut spans = self.since(from);
        let mean = mean_ms(&spans).map(|mean| Metric::new(format!("{name}_mean_ms"), mean));
        let quantiles = [("p50", 0.50), ("p95", 0.95), ("p99", 0.99)];
        let quantiles = quantiles.into_iter().filter_map(|(short, q)| {
            let span = quantile(&mut spans, q)?;
            Some(Metric::new(format!("{name}_{short}_ms"), span.as_ms()))
        });
        mean.into_iter().chain(quantiles).collect()
    }
}

pub(crate) fn mean_ms(spans: &[Delta]) -> Option<f64> {
    (!spans.is_empty())
        .then(|| spans.iter().map(|span| span.as_ms()).sum::<f64>() / spans.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_samples() {
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
            ("rtt_p50_ms", 100.5),
            ("rtt_p95_ms", 190.05),
            ("rtt_p99_ms", 198.01),
        ];
        assert_eq!(
            names,
            expected.map(|(name, value)| (name.to_owned(), value))
        );
        assert_eq!(spans.since(Time::from_ns(150)).len(), 51);
    }
}
