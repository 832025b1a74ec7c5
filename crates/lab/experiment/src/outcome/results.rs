//! Named results of a run: what tables hold and bounds speak of.

use crate::outcome::outcomes::{FlowOutcome, Outcomes};
use crate::outcome::record::{FlowRecord, PathRecord, Waits};
use unbloat_link::Place;
use unbloat_qdisc::Reason;
use unbloat_units::{Bytes, Delta};
use unbloat_workload::Metric;

/// One result: of a flow by its name, of a direction (`down`, `up`) or of one of its hops (`down.hop2`), or of the whole run (`all`).
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    pub subject: String,
    /// With its unit as suffix.
    pub metric: String,
    pub value: f64,
}

/// All results, in a fixed order.
pub fn results(outcomes: &Outcomes) -> Vec<RunResult> {
    let span = outcomes.end.since(outcomes.warm_at);
    let mut results = Vec::new();
    let mut add = |subject: &str, metrics: Vec<Metric>| {
        results.extend(metrics.into_iter().map(|metric| RunResult {
            subject: subject.to_owned(),
            metric: metric.name,
            value: metric.value,
        }));
    };
    add("all", overall(outcomes));
    for (direction, path) in outcomes.paths.entries() {
        add(direction.name(), path_metrics(path, span));
        for (hop, number) in outcomes.hops[direction].iter().zip(1..) {
            add(&format!("{direction}.hop{number}"), path_metrics(hop, span));
        }
    }
    for flow in &outcomes.flows {
        add(&flow.name, flow_metrics(flow));
    }
    results
}

/// Goodput of all flows together, how evenly they share it, and RPM by the first flow that measures round trips itself.
fn overall(outcomes: &Outcomes) -> Vec<Metric> {
    let goodputs: Vec<f64> = outcomes
        .flows
        .iter()
        .filter_map(|flow| value(&flow.metrics, "goodput_bps"))
        .collect();
    let mut metrics = Vec::new();
    if !goodputs.is_empty() {
        metrics.push(Metric::new("goodput_bps", goodputs.iter().sum()));
        metrics.extend(jain_index(&goodputs).map(|index| Metric::new("jain_index", index)));
    }
    let rtts = outcomes
        .flows
        .iter()
        .filter_map(|flow| value(&flow.metrics, "rtt_mean_ms"));
    metrics.extend(
        rtts.map(|rtt_ms| Metric::new("rpm", 60_000.0 / rtt_ms))
            .next(),
    );
    metrics
}

/// Fairness of shares (Jain, Chiu, Hawe 1984): 1 when all are equal, 1/n when one has everything.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

fn value(metrics: &[Metric], name: &str) -> Option<f64> {
    metrics
        .iter()
        .find(|metric| metric.name == name)
        .map(|metric| metric.value)
}

fn path_metrics(path: &PathRecord, span: Delta) -> Vec<Metric> {
    let mut metrics: Vec<_> = Place::ALL
        .into_iter()
        .filter_map(|place| Some((place, path.waits(place)?)))
        .flat_map(|(place, waits)| wait_metrics(place, waits))
        .collect();
    let rate = path.warm_bytes.over(span).map(|rate| rate.as_bps_f64());
    metrics.extend(rate.map(|rate| Metric::new("throughput_bps", rate)));
    metrics.push(Metric::new("drops", path.drops.iter().sum::<u64>() as f64));
    metrics.push(Metric::new("marks", path.marks.iter().sum::<u64>() as f64));
    for (kind, counts) in [("drops", &path.drops), ("marks", &path.marks)] {
        let counted = Reason::ALL
            .into_iter()
            .zip(counts)
            .filter(|(_, count)| **count > 0);
        metrics.extend(counted.map(|(reason, count)| {
            Metric::new(format!("{kind}_{}", reason.name()), *count as f64)
        }));
    }
    metrics
}

fn wait_metrics(place: Place, waits: &Waits) -> Vec<Metric> {
    let named =
        |what: &str, value: f64| Metric::new(format!("{}_delay_{what}_ms", place.name()), value);
    let quantiles = waits
        .ms
        .quantiles([0.5, 0.95, 0.99])
        .into_iter()
        .flat_map(|values| ["p50", "p95", "p99"].into_iter().zip(values));
    let mean = waits.mean_ms().map(|mean| named("mean", mean));
    mean.into_iter()
        .chain(quantiles.map(|(what, value)| named(what, value)))
        .chain([named("max", waits.max.as_ms())])
        .collect()
}

/// The workload's own results, then what its connections saw. A ping's round trips are its own: it has no connections.
fn flow_metrics(flow: &FlowOutcome) -> Vec<Metric> {
    let mut metrics = flow.metrics.clone();
    let FlowRecord {
        rtt_ms,
        rtt_sum_ms,
        segments,
        retransmissions,
        timeouts,
        timeouts_in_recovery,
        connections,
        ..
    } = &flow.record;
    if *connections == 0 {
        return metrics;
    }
    if let Some(values) = rtt_ms.quantiles([0.5, 0.95, 0.99]) {
        metrics.push(Metric::new(
            "rtt_mean_ms",
            rtt_sum_ms / rtt_ms.count() as f64,
        ));
        for (what, value) in ["p50", "p95", "p99"].into_iter().zip(values) {
            metrics.push(Metric::new(format!("rtt_{what}_ms"), value));
        }
    }
    for (name, count) in [
        ("connections", connections),
        ("segments", segments),
        ("retransmissions", retransmissions),
        ("timeouts", timeouts),
    ] {
        metrics.push(Metric::new(name, *count as f64));
    }
    if let Some(count) = timeouts_in_recovery {
        metrics.push(Metric::new("timeouts_in_recovery", *count as f64));
    }
    metrics
}

/// What bounds say of results. A bound without a subject must hold for every subject that has such a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub bound: String,
    /// The result that is furthest on the wrong side, or nearest to it.
    pub worst: Option<RunResult>,
    pub holds: bool,
}

/// Judges a run by its scenario's bounds. A bound of which no result speaks does not hold.
pub fn judge(bounds: &[crate::scenario::score::Bound], results: &[RunResult]) -> Vec<Judgement> {
    bounds
        .iter()
        .map(|bound| {
            let column = bound.column();
            let (subject, metric) = match column.rsplit_once('.') {
                Some((subject, metric)) => (Some(subject), metric),
                None => (None, column.as_str()),
            };
            let meant = results.iter().filter(|result| {
                result.metric == metric && subject.is_none_or(|name| result.subject == name)
            });
            let worst = meant.reduce(|worst, result| {
                if bound.is_worse(result.value, worst.value) {
                    result
                } else {
                    worst
                }
            });
            Judgement {
                bound: bound.to_string(),
                holds: worst.is_some_and(|worst| bound.holds(worst.value)),
                worst: worst.cloned(),
            }
        })
        .collect()
}

/// Offered and delivered bytes must not differ by more than what was lost or is under way: used by tests of every scenario.
pub fn is_conserved(outcomes: &Outcomes) -> bool {
    let paths = &outcomes.paths;
    let offered: u64 = paths.iter().map(|path| path.offered_packets).sum();
    let accounted: u64 = paths
        .iter()
        .map(|path| path.delivered_packets + path.dropped_packets)
        .sum();
    let fits = |path: &PathRecord| path.delivered_bytes + path.dropped_bytes <= path.offered_bytes;
    let bytes: u64 = paths
        .iter()
        .map(|path| (path.offered_bytes - path.delivered_bytes - path.dropped_bytes).as_u64())
        .sum();
    offered == accounted + outcomes.under_way
        && paths.iter().all(fits)
        && Bytes::new(bytes) == outcomes.under_way_bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::score;
    use crate::scenario::toml::Node;

    fn result(subject: &str, metric: &str, value: f64) -> RunResult {
        RunResult {
            subject: subject.into(),
            metric: metric.into(),
            value,
        }
    }

    #[test]
    fn jain_index_of_equal_shares_is_one_and_of_one_taker_a_share() {
        assert_eq!(jain_index(&[2.0; 4]), Some(1.0));
        assert_eq!(jain_index(&[3.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index(&[0.0]), None);
    }

    #[test]
    fn a_bound_is_judged_by_the_worst_result_it_speaks_of() {
        let text = "[score]\nrtt_p95 = \"< 120 ms\"\n\"call.mos\" = \"> 3.5\"\njitter = \"< 1 ms\"";
        let bounds = score::take(&mut Node::parse(text).unwrap()).unwrap();
        let results = [
            result("web", "rtt_p95_ms", 90.0),
            result("call", "rtt_p95_ms", 130.0),
            result("call", "mos", 4.0),
            result("other", "mos", 1.0),
        ];
        let judged: Vec<_> = judge(&bounds, &results)
            .into_iter()
            .map(|j| (j.bound, j.holds, j.worst.map(|w| w.value)))
            .collect();
        let expected = [
            ("call.mos > 3.5", true, Some(4.0)),
            ("jitter < 1 ms", false, None),
            ("rtt_p95 < 120 ms", false, Some(130.0)),
        ];
        assert_eq!(
            judged,
            expected.map(|(bound, holds, worst)| (bound.to_owned(), holds, worst))
        );
    }
}
