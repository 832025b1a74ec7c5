//! How a run stands, for who watches it.

use crate::options::Stage;
use crate::record::Record;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use unbloat_locate::Phase;
use unbloat_units::Delta;

/// One hop so far.
#[derive(Clone, Debug, PartialEq)]
pub struct HopLine {
    pub hop: u8,
    /// Who answered last.
    pub address: Option<IpAddr>,
    pub sent: usize,
    pub answered: usize,
    pub last: Option<Delta>,
    pub idle_p50: Option<Delta>,
    /// Medians under the loads that have begun, in their order.
    pub loaded_p50: Vec<(Phase, Delta)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub stage: Stage,
    /// Since the discovery has ended, of [`crate::Options::length`].
    pub elapsed: Duration,
    pub length: Duration,
    pub hops: Vec<HopLine>,
}

impl HopLine {
    /// A line for each hop.
    pub(crate) fn all(records: &[Record]) -> Vec<HopLine> {
        let mut by_hop: BTreeMap<u8, Vec<&Record>> = BTreeMap::new();
        for record in records {
            by_hop.entry(record.hop).or_default().push(record);
        }
        by_hop
            .into_iter()
            .map(|(hop, all)| line(hop, &all))
            .collect()
    }
}

fn line(hop: u8, all: &[&Record]) -> HopLine {
    let newest = all.iter().rev().find(|record| record.answer.is_some());
    let of = |phase| {
        let counted = all.iter().filter(|record| record.phase == Some(phase));
        let mut rtts: Vec<Delta> = counted.filter_map(|record| record.rtt()).collect();
        rtts.sort_unstable();
        rtts.get(rtts.len() / 2).copied()
    };
    let loads = [Phase::Down, Phase::Up, Phase::Both];
    let loaded = loads.into_iter().filter_map(|load| Some((load, of(load)?)));
    HopLine {
        hop,
        address: newest.and_then(|record| Some(record.answer?.0)),
        sent: all.len(),
        answered: all.iter().filter(|record| record.answer.is_some()).count(),
        last: newest.and_then(|record| record.rtt()),
        idle_p50: of(Phase::Idle),
        loaded_p50: loaded.collect(),
    }
}
