//! Time of packets in this host's driver, measured with the BPF programs of `unbloat watch` if they may be loaded.

use std::collections::BTreeMap;
use std::net::IpAddr;
use unbloat_locate::{LayerDelay, Phase};
use unbloat_locate_host::Stage;
use unbloat_units::Delta;
use unbloat_watch::{Filter, FlowLayers, Options, Wait, Watch};

/// Observes packets to the target during the run.
pub struct DriverWatch {
    watch: Option<Watch>,
    waits: BTreeMap<Phase, Vec<Delta>>,
}

impl DriverWatch {
    /// Measures nothing if the kernel does not permit it; estimates are not accurate enough.
    pub fn open(target: IpAddr) -> DriverWatch {
        let options = Options {
            filter: Filter {
                address: Some(target),
                ..Filter::default()
            },
            ..Options::default()
        };
        let watch = Watch::open(&options).ok();
        DriverWatch {
            watch: watch.filter(|watch| watch.blind().is_none()),
            waits: BTreeMap::new(),
        }
    }

    /// Values before the first look of a stage belong to the previous stage.
    pub fn look(&mut self, stage: Stage, is_new: bool) {
        let Some(layers) = self.watch.as_mut().and_then(|watch| watch.look().ok()) else {
            return;
        };
        if let (Stage::Measure(phase), false) = (stage, is_new) {
            let mut waits: Vec<Delta> = layers.flows.iter().filter_map(in_driver).collect();
            waits.sort_unstable();
            let middle = waits.get(waits.len() / 2).copied();
            self.waits.entry(phase).or_default().extend(middle);
        }
    }

    /// None if no packet was seen.
    pub fn under(&self, load: Phase) -> Option<LayerDelay> {
        let of = |phase| {
            self.waits
                .get(&phase)
                .filter(|waits| !waits.is_empty())
                .cloned()
        };
        Some(LayerDelay {
            idle: of(Phase::Idle)?,
            loaded: of(load)?,
        })
    }
}

fn in_driver(flow: &FlowLayers) -> Option<Delta> {
    flow.driver
        .as_ref()
        .and_then(Wait::spread)
        .map(|spread| spread.p50)
}
