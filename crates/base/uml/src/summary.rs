//! Outcomes short enough to be committed: what tests compare with when no kernel is at hand.

use crate::error::{GuestError, at};
use crate::outcome::{Distribution, Outcome};
use crate::scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

/// An [`Outcome`] without its packets and with short series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub kernel: String,
    pub scenario: Scenario,
    pub flows: Vec<FlowSummary>,
    pub queue: QueueSummary,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    pub congestion_control: String,
    pub goodput_bps: f64,
    pub retransmits: u32,
    pub timeouts: u16,
    /// Segments, at each sample after the flow's start.
    pub cwnd: Vec<u32>,
    /// At each sample after the flow's start.
    pub srtt_us: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSummary {
    pub arrived: u64,
    pub dropped: u64,
    pub marked: u64,
    pub delay: Distribution,
    /// At each sample.
    pub backlog_packets: Vec<u32>,
}

impl Summary {
    pub fn of(outcome: &Outcome) -> Summary {
        let flows = outcome.flows.iter().map(|flow| FlowSummary {
            congestion_control: flow.congestion_control.clone(),
            goodput_bps: flow.goodput_bps,
            retransmits: flow.retransmits,
            timeouts: flow.timeouts,
            cwnd: flow.samples.iter().map(|sample| sample.cwnd).collect(),
            srtt_us: flow.samples.iter().map(|sample| sample.srtt_us).collect(),
        });
        let queue = &outcome.queue;
        let samples = queue.samples.iter();
        Summary {
            kernel: outcome.kernel.clone(),
            scenario: outcome.scenario.clone(),
            flows: flows.collect(),
            queue: QueueSummary {
                arrived: queue.arrived,
                dropped: queue.dropped,
                marked: queue.marked,
                delay: queue.delay,
                backlog_packets: samples.map(|s| s.counters.backlog_packets).collect(),
            },
        }
    }

    /// The committed one of that name (see [`crate::matrix`]).
    pub fn committed(name: &str) -> Result<Summary, GuestError> {
        let path = Summary::folder().join(format!("{name}.json"));
        let text = fs::read(&path).map_err(at(path))?;
        serde_json::from_slice(&text).map_err(|source| GuestError::Outcome { source })
    }

    /// Where committed ones lie, in the source tree.
    pub fn folder() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("truth")
    }

    /// All flows together.
    pub fn goodput_bps(&self) -> f64 {
        self.flows.iter().map(|flow| flow.goodput_bps).sum()
    }
}
