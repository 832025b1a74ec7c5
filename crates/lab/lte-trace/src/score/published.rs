//! Every number that the study publishes and the analysis makes from a trace, with the true one where the hosts know it.

use super::joined::Joined;
use super::seen::Seen;
use super::statistic::{Source, Statistic, percent};
use crate::truth::UserTruth;
use unbloat_stats::quantile;
use unbloat_summary::Metric;
use unbloat_units::Direction;

/// Headline numbers that the generator was given, by beginnings of group and name.
const GIVEN: &[(&str, &str)] = &[
    ("Traffic", "TCP, of flows"),
    ("Traffic", "HTTP, of TCP flows"),
    ("Traffic", "HTTPS, of TCP flows"),
    ("Flow size", ""),
    ("Flow duration", ""),
    ("Radio promotion", ""),
    ("DNS", "answered"),
    ("Table 1", "5 % HS RTT"),
    ("Table 1", "50 % HS RTT"),
    ("Table 1", "95 % HS RTT"),
    ("Timestamp tick", ""),
    ("Receive window", "median initial window"),
    ("HTTP content", ""),
];

/// Other UDP than look-ups is not generated.
const NOT_MODELLED: &[(&str, &str)] = &[("Traffic", "TCP, of bytes")];

fn source(metric: &Metric) -> Source {
    let is_in = |list: &[(&str, &str)]| {
        list.iter()
            .any(|(group, name)| metric.group.starts_with(group) && metric.metric.starts_with(name))
    };
    if is_in(GIVEN) {
        Source::Given
    } else if is_in(NOT_MODELLED) {
        Source::NotModelled
    } else {
        Source::Followed
    }
}

/// All numbers with a published value.
pub fn statistics(seen: &Seen, users: &[UserTruth]) -> Vec<Statistic> {
    let joined = Joined::new(seen, users);
    let published = seen.summary.metrics.iter();
    let published = published.filter(|metric| metric.paper.is_some());
    let published = published.map(|metric| Statistic {
        group: metric.group.clone(),
        name: metric.metric.clone(),
        unit: metric.unit.clone(),
        source: source(metric),
        published: metric.paper,
        analysed: metric.value,
        truth: truth(metric, &joined, seen),
        samples: metric.samples,
    });
    published.collect()
}

/// What the hosts and the radio know of a headline number.
fn truth(metric: &Metric, joined: &Joined<'_>, seen: &Seen) -> Option<f64> {
    let (group, name) = (metric.group.as_str(), metric.metric.as_str());
    let direction = if name.ends_with("up") || name.contains(" up") {
        Direction::Up
    } else {
        Direction::Down
    };
    let pairs = &joined.pairs;
    let share = |part: usize| percent(part, pairs.len());
    let read = || pairs.iter().map(|pair| pair.truth.read[direction]);
    let heavy = match direction {
        Direction::Down => 1_000_000,
        Direction::Up => 100_000,
    };
    match (group.split(' ').next()?, name) {
        ("Flow", name) if name.starts_with("90 % of flows carry") => {
            let mut sizes: Vec<f64> = read().map(|bytes| bytes as f64).collect();
            quantile(&mut sizes, 0.9)
        }
        ("Flow", name) if name.starts_with("flows without") => {
            share(read().filter(|bytes| *bytes == 0).count())
        }
        ("Flow", name) if name.starts_with("heavy hitters") && name.ends_with("of flows") => {
            share(read().filter(|bytes| *bytes > heavy).count())
        }
        ("Flow", name) if name.starts_with("heavy hitters") => {
            let sum: u64 = read().filter(|bytes| *bytes > heavy).sum();
            percent(sum as usize, read().sum::<u64>() as usize)
        }
        ("Radio", quartile) => {
            let q = match quartile {
                "first quartile" => 0.25,
                "median" => 0.5,
                _ => 0.75,
            };
            let flows = seen.promotions.iter();
            let judged = flows.filter_map(|promotion| joined.by_id(promotion.flow_id));
            let mut delays: Vec<f64> = judged.map(|pair| pair.truth.promotion.as_ms()).collect();
            quantile(&mut delays, q)
        }
        ("HTTP", kind) => content(kind, joined),
        ("Receive", name) if name.contains("filled it") => {
            let down = || pairs.iter().filter(|pair| pair.truth.read.down > 0);
            let full = down().filter(|pair| pair.truth.window_full.is_some());
            percent(full.count(), down().count())
        }
        ("Undesired", "of all large flows") => {
            let undesired = joined
                .large()
                .filter(|pair| !pair.truth.undesired.is_empty());
            percent(undesired.count(), joined.large().count())
        }
        ("Undesired", "of large flows with loss") => {
            let with_loss = || {
                joined
                    .large()
                    .filter(|pair| pair.truth.retransmissions.down > 0)
            };
            let undesired = with_loss().filter(|pair| !pair.truth.undesired.is_empty());
            percent(undesired.count(), with_loss().count())
        }
        ("Retransmission", "flows without any") => {
            let down = || pairs.iter().filter(|pair| pair.truth.read.down > 0);
            let none = down().filter(|pair| pair.truth.retransmissions.down == 0);
            percent(none.count(), down().count())
        }
        _ => None,
    }
}

/// Share of a kind of content in what HTTP carried down.
fn content(kind: &str, joined: &Joined<'_>) -> Option<f64> {
    let of = |content: &str| match content {
        "video/mp4" => "video",
        "image/jpeg" => "image",
        "text/html" => "text",
        "application/zip" => "zip",
        "audio/mpeg" => "audio",
        "" => "unknown",
        _ => "other",
    };
    let http = || {
        joined.pairs.iter().filter_map(|pair| {
            let content = pair.truth.content?;
            Some((of(content), pair.truth.read.down))
        })
    };
    let part: u64 = http()
        .filter(|(one, _)| *one == kind)
        .map(|(_, bytes)| bytes)
        .sum();
    let whole: u64 = http().map(|(_, bytes)| bytes).sum();
    percent(part as usize, whole as usize)
}
