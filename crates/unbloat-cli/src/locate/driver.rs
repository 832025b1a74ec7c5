//! How long packets stay in this host's driver, by `unbloat watch`'s programs in the kernel, where they may run.

use std::collections::BTreeMap;
use std::net::IpAddr;
use unbloat_hop::{LayerDelay, Phase};
use unbloat_locate::Stage;
use unbloat_units::Delta;
use unbloat_watch::{Filter, FlowLayers, Options, Wait, Watch};

/// Looks at what goes to the target as the run goes on.
pub struct DriverWatch {
    watch: Option<Watch>,
    waits: BTreeMap<Phase, Vec<Delta>>,
}

impl DriverWatch {
    /// Measures nothing where the kernel does not let us: estimates would not do.
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

    /// What was before the first look of a stage belongs to the stage before.
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

    /// None where nothing was seen.
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
