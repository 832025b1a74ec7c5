//! How many flows a capture has, and how many of them live at once.

use crate::error::BenchError;
use std::convert::Infallible;
use std::path::Path;
use unbloat_analyze::{Control, PipelineError, Settings};
use unbloat_capture::{Input, Trace};
use unbloat_trace::{Output, Params};

/// Flows of a capture, as the engine counts them with its defaults.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    pub flows: u64,
    /// Most that were alive at once.
    pub live: u64,
}

pub fn peak(capture: &Path) -> Result<Peak, BenchError> {
    let mut flows = 0;
    let live = analyse(capture, true, |output| flows += output.flows.len() as u64)?;
    Ok(Peak { flows, live })
}

/// Runs all analyses over a capture in this process and hands on the rows; returns how many flows
/// lived at once.
pub fn analyse(
    capture: &Path,
    summary_only: bool,
    mut take: impl FnMut(&Output),
) -> Result<u64, BenchError> {
    let settings = Settings {
        params: Params::default(),
        parser: unbloat_wire::ParserParams::default(),
        client_nets: Vec::new(),
        threads: 1,
        hash_seed: 1,
        summary_only,
        reads: None,
    };
    let mut trace = Trace::open(&[Input::File(capture.to_owned())])?;
    let mut sink = |output: &Output, _| {
        take(output);
        Ok(Control::Continue)
    };
    match unbloat_analyze::run::<Infallible>(&mut trace, &settings, &mut sink) {
        Ok(outcome) => Ok(outcome.stats.peak_flows as u64),
        Err(PipelineError::Capture(error)) => Err(error.into()),
        Err(PipelineError::Sink(never)) => match never {},
    }
}
