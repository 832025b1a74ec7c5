//! Layers of this host over a span.

use std::collections::BTreeMap;
use tracing::{debug, info};
use unbloat_monitor::LayerSpan;
use unbloat_units::{Delta, Time};
use unbloat_watch::{Filter, Layer, Layers, Options, Wait, Watch};

/// Between two looks: each asks the kernel for all sockets of this host.
const EVERY: Delta = Delta::secs(10);
/// Flows whose process is remembered.
const MOST_FLOWS: usize = 4_096;

pub(crate) struct LayerEyes {
    watch: Watch,
    looked: Time,
    seen: BTreeMap<Layer, Seen>,
    /// Process by the flow's end here, of this span and the one before.
    processes: [BTreeMap<(String, u64), String>; 2],
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    looks: u32,
    sum_ms: f64,
    p95_ms: Option<f64>,
    is_measured: bool,
}

impl LayerEyes {
    /// `None` if this host lets nobody look, which the log tells.
    pub(crate) fn open(interface: &str, now: Time) -> Option<LayerEyes> {
        let options = Options {
            filter: Filter {
                interface: Some(interface.to_owned()),
                ..Filter::default()
            },
            without_bpf: false,
        };
        match Watch::open(&options) {
            Ok(watch) => Some(LayerEyes {
                watch,
                looked: now,
                seen: BTreeMap::new(),
                processes: Default::default(),
            }),
            Err(error) => {
                info!(%error, "layers of this host are not watched");
                None
            }
        }
    }

    /// Looks, if it is time.
    pub(crate) fn look(&mut self, now: Time) {
        if now.since(self.looked) < EVERY {
            return;
        }
        self.looked = now;
        match self.watch.look() {
            Ok(layers) => self.take(&layers),
            Err(error) => debug!(%error, "layers of this host were not seen"),
        }
    }

    fn take(&mut self, layers: &Layers) {
        for interface in &layers.interfaces {
            self.add(Layer::Qdisc, interface.qdisc.as_ref());
            self.add(Layer::Driver, interface.driver.as_ref());
        }
        // The worst flow: sockets and what is below are each flow's own.
        for layer in [Layer::Socket, Layer::Below] {
            let worst = layers
                .flows
                .iter()
                .filter_map(|flow| flow.delay(layer))
                .max();
            self.add(layer, worst.map(Wait::Estimated).as_ref());
        }
        for flow in &layers.flows {
            let Some(process) = &flow.process else {
                continue;
            };
            let names = &mut self.processes[0];
            if names.len() < MOST_FLOWS {
                let from = flow.flow.from;
                let end = (from.ip().to_canonical().to_string(), u64::from(from.port()));
                names.insert(end, process.name.clone());
            }
        }
    }

    fn add(&mut self, layer: Layer, wait: Option<&Wait>) {
        let Some(wait) = wait else {
            return;
        };
        let (mean, spread) = (wait.mean().as_ms(), wait.spread());
        let p95 = spread.map_or(mean, |spread| spread.p95.as_ms());
        let seen = self.seen.entry(layer).or_insert(Seen {
            looks: 0,
            sum_ms: 0.0,
            p95_ms: None,
            is_measured: true,
        });
        seen.looks += 1;
        seen.sum_ms += mean;
        seen.p95_ms = Some(seen.p95_ms.map_or(p95, |most| most.max(p95)));
        // Of sockets and of what is below only means are known.
        seen.is_measured &= spread.is_some() || matches!(layer, Layer::Socket | Layer::Below);
    }

    /// The layers of the span that ends.
    pub(crate) fn close(&mut self) -> Vec<LayerSpan> {
        let [new, old] = &mut self.processes;
        *old = std::mem::take(new);
        let seen = std::mem::take(&mut self.seen).into_iter();
        let is_measured = self.watch.blind().is_none();
        seen.map(|(layer, seen)| LayerSpan {
            layer: layer.name(),
            mean_ms: seen.sum_ms / f64::from(seen.looks.max(1)),
            p95_ms: seen.p95_ms,
            is_measured: seen.is_measured && is_measured,
        })
        .collect()
    }

    /// The process of a flow of this host, by its end here.
    pub(crate) fn process(&self, address: &str, port: u64) -> Option<String> {
        let end = (address.to_owned(), port);
        let mut known = self.processes.iter().filter_map(|names| names.get(&end));
        known.next().cloned()
    }
}
