//! `[[flow]]`: who does what, from when to when, over which TCP.

use super::tcp::ends_of_both;
use super::workload::workload;
use crate::scenario::experiment::Flow;
use crate::scenario::toml::{Error, Keys, Node};
use std::collections::BTreeMap;
use unbloat_params::Settings;
use unbloat_params::range::SPAN;
use unbloat_qdisc::{Dscp, Host};
use unbloat_units::{Delta, Time};

/// More flows than this in a scenario are a slip of the pen.
const MAX_FLOWS: usize = 10_000;

/// Numbers for the names of hosts, in the order in which they are met.
#[derive(Default)]
pub(super) struct Hosts {
    names: BTreeMap<String, u32>,
}

impl Hosts {
    fn host(&mut self, name: String) -> Host {
        let next = self.names.len() as u32;
        Host(*self.names.entry(name).or_insert(next))
    }

    /// By number.
    pub(super) fn names(self) -> Vec<String> {
        let mut numbered: Vec<_> = self.names.into_iter().map(|(name, n)| (n, name)).collect();
        numbered.sort_unstable();
        numbered.into_iter().map(|(_, name)| name).collect()
    }
}

/// Adds the flows of one entry: `count` of them.
pub(super) fn flows(
    node: &Node,
    key: &str,
    hosts: &mut Hosts,
    flows: &mut Vec<Flow>,
) -> Result<(), Error> {
    let mut keys = Keys::of(node, key)?;
    let workload = workload(&mut keys)?;
    let name: String = keys.or("name", workload.name().to_owned())?;
    if ["", "all"].contains(&&*name) {
        return Err(
            keys.fault("\"name\" must not be empty or \"all\", which is all flows together")
        );
    }
    let count: usize = keys.or("count", 1)?;
    if count == 0 || count > MAX_FLOWS - flows.len() {
        return Err(keys.fault(format!(
            "\"count\" must be at least 1, and all flows together at most {MAX_FLOWS}"
        )));
    }
    let origin = Time::from_ns(0);
    let start: Delta = keys.within("start", Delta::ZERO, &SPAN)?;
    let stagger: Delta = keys.within("stagger", Delta::ZERO, &SPAN)?;
    let stop: Option<Delta> = keys.maybe_within("stop", &SPAN)?;
    if stop.is_some_and(|stop| stop <= start) {
        return Err(keys.fault("\"stop\" must be after \"start\""));
    }
    let ends = ends_of_both(&mut keys)?;
    let flow = Flow {
        name: name.clone(),
        group: name,
        is_enabled: keys.or("enabled", true)?,
        workload,
        start: origin + start,
        stop: stop.map(|stop| origin + stop),
        senders: ends.as_ref().map(|ends| ends.sender.clone()),
        receivers: ends.as_ref().map(|ends| ends.receiver.clone()),
        readers: ends.as_ref().map(|ends| ends.reader),
        timestamp_ticks: ends.map(|ends| ends.tick),
        extra_delay: keys.within("delay", Delta::ZERO, &SPAN)?,
        client: hosts.host(keys.or("client", "client".to_owned())?),
        server: hosts.host(keys.or("server", "server".to_owned())?),
        dscp: Dscp(keys.within("dscp", 0, &(0..=63))?),
    };
    keys.end()?;
    let copies = (0..count as i64).map(|number| Flow {
        start: flow.start + stagger * number,
        ..flow.clone()
    });
    flows.extend(copies);
    Ok(())
}

/// Flows that share a name become `NAME_1`, `NAME_2` ..., so that their results can be told apart.
pub(super) fn number(flows: &mut [Flow]) {
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for flow in &*flows {
        counts.entry(flow.group.clone()).or_default()[0] += 1;
    }
    for flow in flows {
        if let Some([all, met]) = counts.get_mut(&flow.group)
            && *all > 1
        {
            *met += 1;
            flow.name = format!("{}_{met}", flow.group);
        }
    }
}
