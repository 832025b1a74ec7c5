//! What is remembered of earlier looks: curves.

use std::collections::{BTreeMap, VecDeque};
use unbloat_units::Delta;
use unbloat_watch::{Flow, Layers};

/// Looks that curves show: more than terminals have columns for them.
const REMEMBERED: usize = 200;

/// Flows whose curves are remembered: more than terminals have rows.
const FLOWS: usize = 500;

/// This host as far as it was watched.
#[derive(Clone, Debug, Default)]
pub struct HostLive {
    title: String,
    estimated: Option<String>,
    now: Layers,
    interfaces: BTreeMap<u32, Curve>,
    flows: BTreeMap<(Flow, Option<String>), Curve>,
}

/// Waits at each look, the newest last.
type Curve = VecDeque<Delta>;

impl HostLive {
    /// `estimated` says why nothing is measured in the kernel, if so.
    pub fn new(title: impl Into<String>, estimated: Option<String>) -> HostLive {
        HostLive {
            title: title.into(),
            estimated,
            ..HostLive::default()
        }
    }

    /// Takes in what is seen now. What is not seen any more is forgotten.
    pub fn take(&mut self, layers: Layers) {
        let waits = layers.interfaces.iter().map(|interface| {
            let wait = interface.qdisc.map_or(Delta::ZERO, |wait| wait.mean());
            (interface.index, wait)
        });
        self.interfaces = continued(&mut self.interfaces, waits);
        let flows = layers.flows.iter().take(FLOWS);
        let totals = flows.map(|flow| ((flow.flow, flow.interface.clone()), flow.total()));
        self.flows = continued(&mut self.flows, totals);
        self.now = layers;
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// Why waits are estimated, if they are.
    pub fn estimated(&self) -> Option<&str> {
        self.estimated.as_deref()
    }

    /// The last look.
    pub fn now(&self) -> &Layers {
        &self.now
    }

    /// T_Q of a device at each look.
    pub fn of_interface(&self, index: u32) -> Option<&VecDeque<Delta>> {
        self.interfaces.get(&index)
    }

    /// The total wait of a flow at each look.
    pub fn of_flow(&self, flow: Flow, interface: Option<&str>) -> Option<&VecDeque<Delta>> {
        self.flows.get(&(flow, interface.map(str::to_owned)))
    }
}

fn continued<K: Ord>(
    before: &mut BTreeMap<K, Curve>,
    seen: impl Iterator<Item = (K, Delta)>,
) -> BTreeMap<K, Curve> {
    let longer = seen.map(|(key, wait)| {
        let mut curve = before.remove(&key).unwrap_or_default();
        if curve.len() == REMEMBERED {
            curve.pop_front();
        }
        curve.push_back(wait);
        (key, curve)
    });
    longer.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::view::tests::example;

    #[test]
    fn curves_are_of_what_is_there_and_do_not_grow_for_ever() {
        let mut live = HostLive::new("here", None);
        let layers = example();
        let (flow, interface) = (layers.flows[0].flow, layers.flows[0].interface.clone());
        (0..1_000).for_each(|_| live.take(layers.clone()));
        let curve = live.of_flow(flow, interface.as_deref()).unwrap();
        assert_eq!(curve.len(), REMEMBERED);
        assert_eq!(curve.back(), Some(&layers.flows[0].total()));
        live.take(Layers::default());
        assert_eq!(live.of_flow(flow, interface.as_deref()), None);
        assert!(live.of_interface(layers.interfaces[0].index).is_none());
    }
}
