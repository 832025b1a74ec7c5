//! The metrics of `unbloat watch`.

use std::collections::BTreeMap;
use unbloat_metrics::{Page, Unit};
use unbloat_watch::{InterfaceLayers, Layer, Layers, Wait};

/// Flows that have metrics: those that wait longest.
const FLOWS: usize = 32;
/// Interfaces whose drops are counted.
const INTERFACES: usize = 256;

/// What is counted since the start.
#[derive(Default)]
pub struct Told {
    samples: u64,
    dropped: BTreeMap<String, u64>,
}

impl Told {
    pub fn page(&mut self, layers: &Layers) -> Page {
        let mut page = Page::default();
        self.samples += 1;
        page.counter(
            "unbloat_watch_samples",
            Unit::None,
            "Samples that were taken.",
        )
        .value(self.samples as f64);
        for seen in &layers.interfaces {
            self.interface(&mut page, seen);
        }
        for (flow, name) in layers
            .flows
            .iter()
            .take(FLOWS)
            .map(|flow| (flow, flow.flow.to_string()))
        {
            let interface = flow.interface.as_deref().unwrap_or("");
            for (layer, delay) in flow.delays() {
                let labels = [
                    ("interface", interface),
                    ("flow", name.as_str()),
                    ("layer", layer.name()),
                ];
                page.gauge(
                    "unbloat_watch_flow_wait",
                    Unit::Seconds,
                    "Mean wait of a flow in a layer of this host; the 32 that wait longest.",
                )
                .sample(&labels, delay.map(|delay| delay.as_secs()));
            }
        }
        page.gauge(
            "unbloat_watch_flows",
            Unit::None,
            "Flows that sent something in the last sample.",
        )
        .value((layers.flows.len() as u64 + layers.more_flows) as f64);
        page
    }

    fn interface(&mut self, page: &mut Page, seen: &InterfaceLayers) {
        for (layer, wait) in [(Layer::Qdisc, &seen.qdisc), (Layer::Driver, &seen.driver)] {
            waits(page, &seen.name, layer, wait.as_ref());
        }
        let interface = [("interface", seen.name.as_str())];
        if let Some(queue) = &seen.queue {
            page.gauge(
                "unbloat_watch_backlog",
                Unit::Bytes,
                "Bytes in the queue discipline.",
            )
            .sample(&interface, queue.backlog.as_u64() as f64);
        }
        if self.dropped.len() < INTERFACES || self.dropped.contains_key(&seen.name) {
            let dropped = self.dropped.entry(seen.name.clone()).or_default();
            *dropped += seen.queue.as_ref().map_or(0, |queue| queue.dropped);
            page.counter(
                "unbloat_watch_queue_dropped_packets",
                Unit::None,
                "Packets that the queue discipline dropped.",
            )
            .sample(&interface, *dropped as f64);
        }
        page.gauge(
            "unbloat_watch_rate",
            Unit::BytesPerSecond,
            "Rate at which packets left the queue discipline.",
        )
        .sample(
            &interface,
            seen.rates.left.map(|rate| rate.as_bps_f64() / 8.0),
        );
    }
}

fn waits(page: &mut Page, interface: &str, layer: Layer, wait: Option<&Wait>) {
    let Some(wait) = wait else {
        return;
    };
    let spread = wait.spread();
    let family = page.gauge(
        "unbloat_watch_wait",
        Unit::Seconds,
        "Wait in a layer of this host, all flows of an interface.",
    );
    for (statistic, value) in [
        ("mean", Some(wait.mean())),
        ("p50", spread.map(|spread| spread.p50)),
        ("p95", spread.map(|spread| spread.p95)),
        ("p99", spread.map(|spread| spread.p99)),
    ] {
        let labels = [
            ("interface", interface),
            ("layer", layer.name()),
            ("statistic", statistic),
        ];
        family.sample(&labels, value.map(|value| value.as_secs()));
    }
}
