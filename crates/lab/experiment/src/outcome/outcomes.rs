//! What came of a run, whoever ran it: the simulator, or the lab.

use crate::outcome::layers::FlowLayers;
use crate::outcome::record::{
    FlowRecord, LayerSample, PathRecord, RadioRecord, Sample, WindowSample,
};
use unbloat_units::{Both, Bytes, Delta, Time};
use unbloat_workload::Metric;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// Over several hops a packet's waits are the sums over those, told when it arrives.
    pub paths: Both<PathRecord>,
    /// Each hop of both directions in the order in which packets meet them, where a direction has more than one.
    pub hops: Both<Vec<PathRecord>>,
    /// Radios by their names in results.
    pub radios: Vec<(String, RadioRecord)>,
    /// In the order of the experiment's flows.
    pub flows: Vec<FlowOutcome>,
    pub samples: Vec<Sample>,
    pub layers: Vec<LayerSample>,
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
    /// The name that it may share with other flows.
    pub group: String,
    /// Without it, it did nothing.
    pub is_enabled: bool,
    /// When it ended: with the run at the latest.
    pub end: Time,
    pub record: FlowRecord,
    /// As the workload tells them.
    pub metrics: Vec<Metric>,
    /// What its packets met at the layers of the device that sends them, where that was asked for.
    pub layers: Both<Option<Box<FlowLayers>>>,
    /// How long its application waited for what; where series are kept.
    pub times: Vec<AppTime>,
}

/// One wait of an application, such as the load of a page or the set-up of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AppTime {
    /// When it was over.
    pub at: Time,
    pub what: &'static str,
    pub took: Delta,
}
