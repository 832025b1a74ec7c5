//! The metrics of shapers: `unbloat shape` and `unbloat autorate`.

use std::collections::BTreeMap;
use unbloat_autorate::Decision;
use unbloat_cake_nfqueue::{Counts, Event};
use unbloat_metrics::{Page, Unit};
use unbloat_units::{Both, Direction};

/// What shapers did last, and how often they were adjusted.
#[derive(Default)]
pub struct Told {
    decisions: BTreeMap<(Direction, &'static str), u64>,
    last: Both<Option<Decision>>,
    counts: Both<Option<Counts>>,
}

impl Told {
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Counts { sides, .. } => self.counts = *sides,
            Event::Decided(decision) => self.decision(decision),
        }
    }

    pub fn decision(&mut self, decision: &Decision) {
        let key = (decision.direction, decision.reason.name());
        *self.decisions.entry(key).or_default() += 1;
        self.last[decision.direction] = Some(*decision);
    }

    pub fn page(&self) -> Page {
        let mut page = Page::default();
        // It is there before the first decision.
        page.gauge("unbloat_shaper_up", Unit::None, "1 while the shaper runs.")
            .value(1.0);
        for ((direction, reason), count) in &self.decisions {
            let labels = [("direction", direction.name()), ("reason", *reason)];
            page.counter(
                "unbloat_shaper_decisions",
                Unit::None,
                "Changes of a shaper's rate, by reason.",
            )
            .sample(&labels, *count as f64);
        }
        for (direction, counts) in self.counts.entries() {
            if let Some(counts) = counts {
                passed(&mut page, direction, counts);
            }
        }
        for (direction, last) in self.last.entries() {
            if let Some(last) = last {
                decided(&mut page, direction, last);
            }
        }
        page
    }
}

fn rate(page: &mut Page, direction: Direction, bps: Option<f64>) {
    page.gauge(
        "unbloat_shaper_rate",
        Unit::BytesPerSecond,
        "Rate of the shaper.",
    )
    .sample(&[("direction", direction.name())], bps.map(|bps| bps / 8.0));
}

fn passed(page: &mut Page, direction: Direction, counts: &Counts) {
    let labels = [("direction", direction.name())];
    rate(page, direction, counts.rate.map(|rate| rate.as_bps_f64()));
    page.counter(
        "unbloat_shaper_traffic",
        Unit::Bytes,
        "Bytes that passed the shaper.",
    )
    .sample(&labels, counts.bytes as f64);
    for (name, help, count) in [
        (
            "unbloat_shaper_packets",
            "Packets that passed the shaper.",
            counts.packets,
        ),
        (
            "unbloat_shaper_dropped_packets",
            "Packets that the shaper dropped.",
            counts.dropped,
        ),
        (
            "unbloat_shaper_marked_packets",
            "Packets that the shaper marked by ECN.",
            counts.marked,
        ),
    ] {
        page.counter(name, Unit::None, help)
            .sample(&labels, count as f64);
    }
    page.gauge(
        "unbloat_shaper_backlog",
        Unit::Bytes,
        "Bytes that wait in the shaper.",
    )
    .sample(&labels, counts.backlog.bytes.as_u64() as f64);
    page.gauge(
        "unbloat_shaper_longest_wait",
        Unit::Seconds,
        "Longest wait of a packet in the last second.",
    )
    .sample(&labels, counts.longest.as_secs());
}

fn decided(page: &mut Page, direction: Direction, last: &Decision) {
    let labels = [("direction", direction.name())];
    let evidence = &last.evidence;
    rate(page, direction, Some(last.after.as_bps_f64()));
    for (name, help, value) in [
        (
            "unbloat_shaper_line_delay",
            "Delay on the line at the last decision.",
            evidence.delay,
        ),
        (
            "unbloat_shaper_line_delay_threshold",
            "Delay on the line beyond which the rate falls.",
            Some(evidence.threshold),
        ),
    ] {
        page.gauge(name, Unit::Seconds, help)
            .sample(&labels, value.map(|value| value.as_secs()));
    }
    page.gauge(
        "unbloat_shaper_delivered",
        Unit::BytesPerSecond,
        "Rate that the line delivered at the last decision.",
    )
    .sample(&labels, evidence.carried.as_bps_f64() / 8.0);
}
