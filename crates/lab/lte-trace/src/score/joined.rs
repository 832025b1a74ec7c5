//! Flows of the analysis and of the truth, one beside the other.

use super::seen::{FlowSeen, Seen};
use crate::truth::{FlowName, FlowTruth, UserTruth};
use std::collections::BTreeMap;

/// A flow as it was, and as it was seen.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub user: &'a UserTruth,
    pub truth: &'a FlowTruth,
    pub seen: &'a FlowSeen,
}

/// All flows that the monitor saw a packet of.
pub(super) struct Joined<'a> {
    pub pairs: Vec<Pair<'a>>,
    /// By number of the analysis.
    by_id: BTreeMap<u64, usize>,
    /// Flows with packets in the truth, and flows that the analysis has.
    pub sent: usize,
    pub found: usize,
}

impl<'a> Joined<'a> {
    pub(super) fn new(seen: &'a Seen, users: &'a [UserTruth]) -> Joined<'a> {
        let flows = users
            .iter()
            .flat_map(|user| user.flows.iter().map(move |truth| (user, truth)));
        let sent = flows.filter(|(_, truth)| truth.packets.down + truth.packets.up > 0);
        let by_name: BTreeMap<FlowName, (&UserTruth, &FlowTruth)> = sent
            .map(|(user, truth)| (truth.name, (user, truth)))
            .collect();
        let pairs = seen.flows.iter().filter_map(|flow| {
            let (user, truth) = *by_name.get(&flow.name)?;
            Some(Pair {
                user,
                truth,
                seen: flow,
            })
        });
        let pairs: Vec<Pair<'a>> = pairs.collect();
        Joined {
            by_id: pairs
                .iter()
                .map(|pair| pair.seen.flow_id)
                .zip(0..)
                .collect(),
            pairs,
            sent: by_name.len(),
            found: seen.flows.len(),
        }
    }

    pub(super) fn by_id(&self, flow_id: u64) -> Option<&Pair<'a>> {
        self.by_id.get(&flow_id).map(|index| &self.pairs[*index])
    }

    /// Large flows: more than 5 s and 1 MB (section 5).
    pub(super) fn large(&self) -> impl Iterator<Item = &Pair<'a>> {
        self.pairs.iter().filter(|pair| pair.seen.is_large)
    }
}
