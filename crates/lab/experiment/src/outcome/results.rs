//! Named results of a run: what tables hold and bounds speak of.

use crate::outcome::goodput::Goodput;
use crate::outcome::outcomes::{FlowOutcome, Outcomes};
use crate::outcome::record::{FlowRecord, PathRecord, RadioRecord, Waits};
use crate::outcome::spread::rsd;
use std::collections::BTreeMap;
use unbloat_link::Place;
use unbloat_qdisc::Reason;
use unbloat_units::{Both, Bytes, Delta};
use unbloat_workload::Metric;

/// One result: of a flow by its name, of flows that share a name (`download_*`), of a direction (`down`, `up`) or of one of its hops
/// (`down.hop2`), of a radio (`radio`, `radio.CLIENT`), or of the whole run (`all`).
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    pub subject: String,
    /// With its unit as suffix.
    pub metric: String,
    pub value: f64,
}

/// The subject of all flows together.
const ALL: &str = "all";

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
    add(ALL, overall(outcomes, span));
    for (direction, path) in outcomes.paths.entries() {
        add(direction.name(), path_metrics(path, span));
        for (hop, number) in outcomes.hops[direction].iter().zip(1..) {
            add(&format!("{direction}.hop{number}"), path_metrics(hop, span));
        }
    }
    for (name, radio) in &outcomes.radios {
        add(name, radio_metrics(radio, span));
    }
    for (name, flows) in groups(&outcomes.flows) {
        add(&name, group_metrics(&flows, span));
    }
    for flow in outcomes.flows.iter().filter(|flow| flow.is_enabled) {
        add(&flow.name, flow_metrics(flow));
    }
    results
}

/// Ends the subject of flows that share a name.
const GROUP: &str = "_*";

/// Whether the results of a subject are of other subjects together.
fn is_sum(subject: &str) -> bool {
    subject == ALL || subject.ends_with(GROUP)
}

/// Names that several flows share, in the order of their first flows.
fn groups(flows: &[FlowOutcome]) -> Vec<(String, Vec<&FlowOutcome>)> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<(String, Vec<&FlowOutcome>)> = Vec::new();
    for flow in flows {
        let place = *places.entry(&flow.group).or_insert(groups.len());
        if place == groups.len() {
            groups.push((format!("{}{GROUP}", flow.group), Vec::new()));
        }
        groups[place].1.push(flow);
    }
    groups.retain(|(_, members)| members.len() > 1);
    for (_, members) in &mut groups {
        members.retain(|flow| flow.is_enabled);
    }
    groups.retain(|(_, members)| !members.is_empty());
    groups
}

/// Several flows as if they were one.
fn merged<'a>(flows: impl IntoIterator<Item = &'a FlowOutcome>) -> FlowRecord {
    let mut sum = FlowRecord::default();
    for flow in flows {
        sum.merge(&flow.record);
    }
    sum
}

fn group_metrics(flows: &[&FlowOutcome], span: Delta) -> Vec<Metric> {
    let sum = merged(flows.iter().copied());
    let mut metrics = goodput(&sum, span);
    metrics.extend(fairness(flows.iter().copied()));
    metrics.extend(round_trips(&sum));
    metrics.extend(counts(&sum));
    metrics
}

/// What applications read over the time in which they could. (A sum of the flows' own rates would count a short transfer as if it
/// had gone on all the time.)
fn goodput(record: &FlowRecord, span: Delta) -> Vec<Metric> {
    let Both { down, up } = record.read.as_ref().map(Goodput::total);
    let rates = [
        ("goodput_bps", down + up),
        ("goodput_down_bps", down),
        ("goodput_up_bps", up),
    ];
    let rates = rates.into_iter();
    rates
        .filter_map(|(name, bytes)| Some(Metric::new(name, bytes.over(span)?.as_bps_f64())))
        .collect()
}

/// How evenly flows share, by the goodput of each over its own time.
fn fairness<'a>(flows: impl IntoIterator<Item = &'a FlowOutcome>) -> Option<Metric> {
    let rates = flows.into_iter().filter(|flow| flow.is_enabled);
    let rates: Vec<_> = rates
        .filter_map(|flow| value(&flow.metrics, "goodput_bps"))
        .collect();
    Some(Metric::new("jain_index", jain_index(&rates)?))
}

/// All flows together, and RPM by the first flow that measures round trips itself.
fn overall(outcomes: &Outcomes, span: Delta) -> Vec<Metric> {
    let enabled = outcomes.flows.iter().filter(|flow| flow.is_enabled);
    let sum = merged(enabled);
    let mut metrics = Vec::new();
    if outcomes.flows.iter().any(|flow| flow.is_enabled) {
        metrics.extend(goodput(&sum, span));
        metrics.extend(fairness(&outcomes.flows));
    }
    let mut rtts = outcomes
        .flows
        .iter()
        .filter(|flow| flow.is_enabled)
        .filter_map(|flow| value(&flow.metrics, "rtt_mean_ms"));
    metrics.extend(
        rtts.next()
            .map(|rtt_ms| Metric::new("rpm", 60_000.0 / rtt_ms)),
    );
    metrics.extend(counts(&sum));
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
    metrics.extend(utilisation(path));
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

fn radio_metrics(radio: &RadioRecord, span: Delta) -> Vec<Metric> {
    let connected = radio.used.connected;
    let share = (span > Delta::ZERO).then(|| connected.as_secs() / span.as_secs());
    let mut metrics = vec![
        Metric::new("connected_ms", connected.as_ms()),
        Metric::new("promotions", radio.used.promotions as f64),
    ];
    metrics.extend(share.map(|share| Metric::new("connected_share", share)));
    metrics
}

/// What was carried, of what could have been.
fn utilisation(path: &PathRecord) -> Option<Metric> {
    let carriable = path.carriable.filter(|bytes| *bytes > Bytes::ZERO)?;
    let share = path.warm_bytes.as_u64() as f64 / carriable.as_u64() as f64;
    Some(Metric::new("utilisation", share))
}

fn wait_metrics(place: Place, waits: &Waits) -> Vec<Metric> {
    let named =
        |what: &str, value: f64| Metric::new(format!("{}_delay_{what}_ms", place.name()), value);
    let quantiles = waits
        .ms
        .quantiles([0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
        .into_iter()
        .flat_map(|values| {
            ["p5", "p25", "p50", "p75", "p95", "p99"]
                .into_iter()
                .zip(values)
        });
    let mean = waits.mean_ms().map(|mean| named("mean", mean));
    mean.into_iter()
        .chain(quantiles.map(|(what, value)| named(what, value)))
        .chain([named("max", waits.max.as_ms())])
        .collect()
}

/// The workload's own results, then what its connections saw. A ping's round trips are its own: it has no connections.
fn flow_metrics(flow: &FlowOutcome) -> Vec<Metric> {
    let mut metrics = flow.metrics.clone();
    metrics.extend(steadiness(flow));
    metrics.extend(round_trips(&flow.record));
    metrics.extend(windows(&flow.record));
    metrics.extend(layers(flow));
    metrics.extend(counts(&flow.record));
    metrics
}

/// How much its goodput varies from interval to interval, in the direction of more data.
fn steadiness(flow: &FlowOutcome) -> Option<Metric> {
    let Both { down, up } = &flow.record.read;
    let main = if up.total() > down.total() { up } else { down };
    Some(Metric::new("goodput_rsd", main.rsd(flow.end)?))
}

/// Waits at the layers of the sending device: `up_qdisc_delay_p50_ms`.
fn layers(flow: &FlowOutcome) -> Vec<Metric> {
    let known = flow.layers.entries();
    let known = known.filter_map(|(direction, layers)| Some((direction, layers.as_ref()?)));
    let named = known.flat_map(|(direction, layers)| {
        let waits = Place::ALL
            .into_iter()
            .filter_map(|place| Some(wait_metrics(place, layers.waits(place)?)));
        let add =
            move |metric: Metric| Metric::new(format!("{direction}_{}", metric.name), metric.value);
        waits.flatten().map(add).collect::<Vec<_>>()
    });
    named.collect()
}

/// Windows as they were sampled.
fn windows(record: &FlowRecord) -> Vec<Metric> {
    let sampled = [
        ("cwnd", &record.cwnd_bytes),
        ("in_flight", &record.in_flight_bytes),
    ];
    let each = sampled.into_iter().filter_map(|(name, bytes)| {
        let [p50, p95, max] = bytes.quantiles([0.5, 0.95, 1.0])?;
        let named = [("p50", p50), ("p95", p95), ("max", max)];
        Some(named.map(|(what, value)| Metric::new(format!("{name}_{what}_bytes"), value)))
    });
    each.flatten().collect()
}

fn round_trips(record: &FlowRecord) -> Vec<Metric> {
    let rtt_ms = &record.rtt_ms;
    let Some(values) = rtt_ms.quantiles([0.5, 0.95, 0.99]) else {
        return Vec::new();
    };
    let mean = record.rtt_sum_ms / rtt_ms.count() as f64;
    let quantiles = ["p50", "p95", "p99"].into_iter().zip(values);
    let quantiles = quantiles.map(|(what, value)| Metric::new(format!("rtt_{what}_ms"), value));
    let spread = rsd(rtt_ms.count(), record.rtt_sum_ms, record.rtt_squares);
    let spread = spread.map(|value| Metric::new("rtt_rsd", value));
    [Metric::new("rtt_mean_ms", mean)]
        .into_iter()
        .chain(quantiles)
        .chain(spread)
        .collect()
}

/// Nothing without connections.
fn counts(record: &FlowRecord) -> Vec<Metric> {
    if record.connections == 0 {
        return Vec::new();
    }
    let counts = [
        ("connections", Some(record.connections)),
        ("segments", Some(record.segments)),
        ("retransmissions", Some(record.retransmissions)),
        ("timeouts", Some(record.timeouts)),
        ("timeouts_in_recovery", record.timeouts_in_recovery),
    ];
    counts
        .into_iter()
        .filter_map(|(name, count)| Some(Metric::new(name, count? as f64)))
        .collect()
}

/// What bounds say of results. A bound without a subject must hold for every subject that has such a result; for sums over flows
/// only if no single subject has it.
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
            let named = |result: &&RunResult| {
                result.metric == metric && subject.is_none_or(|name| result.subject == name)
            };
            let single = |result: &&RunResult| subject.is_some() || !is_sum(&result.subject);
            let has_single = results.iter().filter(named).any(|result| single(&result));
            let meant = results
                .iter()
                .filter(named)
                .filter(|result| single(result) || !has_single);
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
