//! What became of each probe.

use schemars::JsonSchema;
use serde::Serialize;
use std::net::IpAddr;
use unbloat_locate::{PEER, Phase, Probe};
use unbloat_units::{Delta, Time};

/// One probe. Times are the kernel's, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// [`PEER`] or the number of the hop.
    pub hop: u8,
    /// What counts; None while queues fill and drain, and in the discovery.
    pub phase: Option<Phase>,
    pub round: u32,
    /// By this program's clock reading, and when it entered the queue discipline.
    pub sent: Time,
    pub queued: Option<Time>,
    /// When it was handed to the driver.
    pub left: Option<Time>,
    pub answer: Option<(IpAddr, Time)>,
}

/// Longer round trips are clocks that were set.
const LONGEST: Delta = Delta::secs(60);

impl Record {
    pub fn rtt(&self) -> Option<Delta> {
        let (_, at) = self.answer?;
        plausible(at - self.queued.unwrap_or(self.sent))
    }

    /// The time in this host's queue discipline.
    pub fn in_qdisc(&self) -> Option<Delta> {
        plausible(self.left? - self.queued?)
    }

    pub(crate) fn probe(&self) -> Option<Probe> {
        Some(Probe {
            hop: self.hop,
            phase: self.phase?,
            round: self.round,
            answer: self.answer.and_then(|(from, _)| Some((from, self.rtt()?))),
        })
    }

    pub fn is_of_peer(&self) -> bool {
        self.hop == PEER
    }
}

fn plausible(span: Delta) -> Option<Delta> {
    (!span.is_negative() && span < LONGEST).then_some(span)
}

/// What came in and was no answer to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    pub sent: u64,
    pub answered: u64,
    /// Probes that this host itself refused: its queue or filter, or nobody is there to hand them to.
    pub refused: u64,
    /// Answers to a probe that was answered before.
    pub repeated: u64,
    /// Answers that quote nothing of ours: not asked for, or forged.
    pub foreign: u64,
    /// Answers that quote too little to tell to which probe they belong.
    pub ambiguous: u64,
    /// What is no answer at all.
    pub malformed: u64,
}
