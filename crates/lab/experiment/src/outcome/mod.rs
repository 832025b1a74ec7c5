//! What came of an experiment: counts, distributions and series, and the named results that tables hold and bounds speak
//! of. The simulator and the lab fill the same records, so that their runs can be laid side by side.

mod goodput;
mod layers;
mod outcomes;
mod record;
mod results;
mod route;
mod snapshot;
mod spread;

pub use goodput::Goodput;
pub use layers::{FlowLayers, Layer};
pub use outcomes::{AppTime, FlowOutcome, Outcomes};
pub use record::{FlowRecord, LayerSample, PathRecord, RadioRecord, Sample, Waits, WindowSample};
pub use results::{Judgement, RunResult, is_conserved, jain_index, judge, results};
pub use route::Route;
pub use snapshot::{FlowSnapshot, LatenessSnapshot, PathSnapshot, Snapshot};
