//! Estimates of bandwidth against the rate of the bed's link.

use super::Quantity;
use crate::bed::Bed;
use crate::score::{Score, Unit};
use crate::statistics::mean;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use unbloat_units::Delta;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "bandwidth",
    beds: &["bulk", "steps", "ticks-1", "ticks-4", "ticks-10"],
    definition: "As in section 6.2 of the paper: consecutive windows of 1.0 s (and 0.1 s). In each window, the mean rate of the \
        client's downlink is compared with one sample of table `bandwidth`: the sample with the same averaging time that is \
        closest to the center of the window. A sample centered within a quarter of a window from that center covers at least \
        three quarters of the window; windows without such a sample are excluded and counted. The row `any sample in them` \
        includes windows whose closest sample is centered anywhere in the window: with rate steps half as long as the window, \
        such a sample mostly describes another rate. Ten grids of windows are scored, each shifted against the previous one, \
        because the start of a single grid is arbitrary. The rate of the link counts IP bytes and is scaled by the fraction of \
        payload in them.",
    score,
};

/// Rate over time of one client's downlink.
struct Link {
    changes: Vec<(i64, f64)>,
}

impl Link {
    /// Mean rate over a span.
    fn mean_bps(&self, from: i64, until: i64) -> f64 {
        let mut bits = 0.0;
        for (i, &(begin, bps)) in self.changes.iter().enumerate() {
            let end = self.changes.get(i + 1).map_or(i64::MAX, |next| next.0);
            let span = end.min(until) - begin.max(from);
            bits += bps * span.max(0) as f64;
        }
        bits / (until - from) as f64
    }
}

fn links(bed: &Bed) -> BTreeMap<Ipv4Addr, Link> {
    let mut links: BTreeMap<Ipv4Addr, Link> = BTreeMap::new();
    for change in &bed.truth.rates {
        let link = links.entry(change.client).or_insert_with(|| Link {
            changes: Vec::new(),
        });
        link.changes.push((change.time_ns, change.rate_bps));
    }
    links
}

/// Our samples of each client that average over about `window`, in time order.
fn samples(bed: &Bed, window: Delta) -> BTreeMap<Ipv4Addr, Vec<(i64, f64)>> {
    let is_as_long = |ms: f64| (0.8..1.2).contains(&(ms / window.as_ms()));
    let mut samples: BTreeMap<Ipv4Addr, Vec<(i64, f64)>> = BTreeMap::new();
    let down = bed
        .at_monitor
        .table("bandwidth")
        .rows()
        .filter(|r| r.text("side") == "down");
    for row in down.filter(|r| r.number("window_ms").is_some_and(is_as_long)) {
        let at = bed
            .at_monitor
            .data_tuple(row)
            .zip(bed.at_monitor.time_ns(row));
        if let Some(((tuple, time), bps)) = at.zip(row.number("bandwidth_bps")) {
            samples
                .entry(tuple.destination.0)
                .or_default()
                .push((time, bps));
        }
    }
    samples
        .values_mut()
        .for_each(|s| s.sort_unstable_by_key(|s| s.0));
    samples
}

/// Payload bytes over IP bytes of a full packet.
const PAYLOAD_SHARE: f64 = 1448.0 / 1500.0;

/// Grids of windows, each shifted against the one before.
const PHASES: i64 = 10;

/// One client's samples of about `width`, against its link.
struct Course<'a> {
    link: &'a Link,
    samples: &'a [(i64, f64)],
    width: i64,
}

impl Course<'_> {
    /// For each window of each grid: how far the nearest sample is from its centre, and how wrong.
    fn windows(&self) -> impl Iterator<Item = (i64, f64)> {
        let begin = self.samples.first().map_or(0, |s| s.0);
        let end = self.samples.last().map_or(0, |s| s.0);
        let grids = (0..PHASES).map(move |phase| begin + self.width * phase / PHASES);
        let windows = grids.flat_map(move |first| (first..end).step_by(self.width as usize));
        windows.filter_map(|from| {
            let off = |time: i64| (time - from - self.width / 2).abs();
            let nearest = self.samples.iter().min_by_key(|s| off(s.0));
            let truth = self.link.mean_bps(from, from + self.width) * PAYLOAD_SHARE;
            nearest.map(|&(time, bps)| (off(time), bps / truth - 1.0))
        })
    }
}

fn score(bed: &Bed) -> Vec<Score> {
    let links = links(bed);
    let one = |window: Delta, farthest: Delta, measure| {
        let by_client = samples(bed, window);
        let courses = by_client.iter().filter_map(|(client, samples)| {
            links.get(client).map(|link| Course {
                link,
                samples,
                width: window.as_ns(),
            })
        });
        let all: Vec<_> = courses
            .flat_map(|c| c.windows().collect::<Vec<_>>())
            .collect();
        let near = all.iter().filter(|(off, _)| *off <= farthest.as_ns());
        let errors: Vec<f64> = near.map(|(_, error)| *error).collect();
        let relative: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
        let bias = mean(&errors).unwrap_or(0.0);
        let score = Score::new(measure, Unit::Share, errors.len(), mean(&relative));
        score.note(format!(
            "bias {}; {} windows without a sample",
            Unit::Share.show(bias),
            all.len() - errors.len()
        ))
    };
    vec![
        one(
            Delta::secs(1),
            Delta::ms(250),
            "mean error, windows of 1.0 s",
        )
        .at_most(0.05),
        one(
            Delta::secs(1),
            Delta::ms(500),
            "the same, any sample in them",
        ),
        one(
            Delta::ms(100),
            Delta::ms(25),
            "mean error, windows of 0.1 s",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_rate_weighs_each_step_by_its_time() {
        let link = Link {
            changes: vec![(0, 4.0), (100, 8.0)],
        };
        assert_eq!(link.mean_bps(0, 100), 4.0);
        assert_eq!(link.mean_bps(50, 150), 6.0);
        assert_eq!(link.mean_bps(500, 600), 8.0);
    }
}
