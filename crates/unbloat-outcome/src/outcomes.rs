//! What came of a run, whoever ran it: the simulator, or the lab.

use crate::record::{FlowRecord, PathRecord, Sample, WindowSample};
use unbloat_units::{Bytes, Time};
use unbloat_workload::Metric;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// Downlink, then uplink.
    pub paths: [PathRecord; 2],
    /// In the order of the experiment's flows.
    pub flows: Vec<FlowOutcome>,
    pub samples: Vec<Sample>,
    pub windows: Vec<WindowSample>,
    /// Packets that were under way when the run ended.
    pub under_way: u64,
    pub under_way_bytes: Bytes,
    /// Tasks that were done.
    pub tasks: u64,
    pub end: Time,
    pub warm_at: Time,
}

#[derive(Clone, Debug)]
pub struct FlowOutcome {
    pub name: String,
    pub record: FlowRecord,
    /// As the workload tells them.
    pub metrics: Vec<Metric>,
}
