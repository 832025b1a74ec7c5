//! The results as rows of the table `summary`.

use super::findings::{Case, Findings};
use super::question::{Question, statistic_name};
use unbloat_queueing::{BufferAnswer, Capacity, published};
use unbloat_summary::Metric;

impl Findings {
    pub fn metrics(&self, question: &Question) -> Vec<Metric> {
        let mut metrics = Vec::new();
        if let Some(fit) = &question.fit {
            let samples = fit.points.len() as u64;
            let mut add = |name, value, unit, doc| {
                metrics.extend(metric("Measured curve", name, value, unit, samples, doc));
            };
            let packets = |k: Capacity| f64::from(k.get());
            let same = "Capacities that fit equally well within the observed error.";
            add(
                "buffer",
                Some(packets(fit.capacity)),
                "packets",
                "Capacity of the closest M/M/1/K, including the packet in transmission.",
            );
            add(
                "buffer at least",
                Some(packets(fit.at_least)),
                "packets",
                same,
            );
            add("buffer at most", fit.at_most.map(packets), "packets", same);
            add(
                "rate",
                Some(fit.rate.as_bps_f64()),
                "bit/s",
                "Rate of the bottleneck, fitted unless given.",
            );
            add(
                "residual",
                Some(100.0 * fit.rms),
                "%",
                "Root mean square distance between points and model, delay and throughput together.",
            );
        }
        self.cases
            .iter()
            .for_each(|case| case.metrics(question, &mut metrics));
        metrics
    }
}

impl Case {
    fn metrics(&self, question: &Question, metrics: &mut Vec<Metric>) {
        let group = self.name();
        let ms = |transmissions: f64| transmissions * question.link.transmission_secs() * 1e3;
        let mut add = |name: &str, value, unit, doc| {
            metrics.extend(metric(&group, name, value, unit, 1, doc));
        };
        let knee = self.knee;
        add(
            "buffer for 99 % of throughput",
            knee.map(|(k, _)| f64::from(k.get())),
            "packets",
            "The smallest buffer that carries 99 % of the offered load or, above load 1, of the link rate.",
        );
        add(
            "mean delay there",
            knee.map(|(_, d)| ms(d[0])),
            "ms",
            "Waiting and transmission time of accepted packets.",
        );
        add(
            "p95 delay there",
            knee.map(|(_, d)| ms(d[1])),
            "ms",
            "Waiting and transmission time of accepted packets.",
        );
        let (capacity, [mean, p95]) = self.largest;
        add(
            "mean delay, largest buffer",
            Some(ms(mean)),
            "ms",
            "With the largest requested buffer.",
        );
        add(
            "p95 delay, largest buffer",
            Some(ms(p95)),
            "ms",
            "With the largest requested buffer.",
        );
        let published = ms(published::mean_delay(self.load, capacity));
        add(
            "Eq. 4, largest buffer",
            Some(published),
            "ms",
            "Mean delay as published: for a Poisson source of the same mean, with the offered rate in Little's law.",
        );
        add(
            "mean delay without limit",
            self.unlimited.map(|d| ms(d[0])),
            "ms",
            "Mean delay with an unlimited buffer; unbounded at loads of 1 and above.",
        );
        if let (Some((target, statistic)), Some(answer)) = (question.target, self.target) {
            let name = format!("buffer for {} within {target}", statistic_name(statistic));
            let packets = match answer {
                BufferAnswer::Largest { capacity: k, .. } => Some(f64::from(k.get())),
                BufferAnswer::Any { .. } | BufferAnswer::None { .. } => None,
            };
            add(
                &name,
                packets,
                "packets",
                "The largest buffer within the target.",
            );
        }
    }
}

/// A row; none for values that do not exist, such as an unbounded mean.
fn metric(
    group: &str,
    name: &str,
    value: Option<f64>,
    unit: &str,
    samples: u64,
    doc: &str,
) -> Option<Metric> {
    value.map(|value| Metric {
        group: group.to_owned(),
        metric: name.to_owned(),
        value: Some(value),
        unit: unit.to_owned(),
        paper: None,
        samples,
        doc: doc.to_owned(),
    })
}
