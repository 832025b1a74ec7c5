//! Headline numbers of the analysis as the simulated hosts and the radio know them.

use super::check::percent;
use super::joined::Joined;
use super::seen::Seen;
use crate::truth::UserTruth;
use unbloat_stats::quantile;
use unbloat_summary::Metric;

/// `GROUP.NAME` as in table `summary`, and what the hosts and the radio know of it.
pub fn known(seen: &Seen, users: &[UserTruth]) -> Vec<(String, f64)> {
    let joined = Joined::new(seen, users);
    let known = seen.summary.metrics.iter().filter_map(|metric| {
        let value = truth(metric, &joined, seen)?;
        Some((format!("{}.{}", metric.group, metric.metric), value))
    });
    known.collect()
}

/// What the hosts and the radio know of a headline number.
fn truth(metric: &Metric, joined: &Joined<'_>, seen: &Seen) -> Option<f64> {
    let (group, name) = (metric.group.as_str(), metric.metric.as_str());
    let pairs = &joined.pairs;
    match (group.split(' ').next()?, name) {
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
