//! A bed's folder and everything read from it.

use crate::analysed::Analysed;
use crate::error::ScoreError;
use crate::packets::Packets;
use crate::tools::{Tcptrace, Tshark};
use crate::truth::Truth;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use unbloat_trace::Params;
use unbloat_truth::core::PathParams;
use unbloat_truth::{Capture, RunParams, Scenario};
use unbloat_units::Delta;

/// Whether tshark and tcptrace are asked too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tools {
    Ask,
    LeaveOut,
}

/// A finished bed, its captures analysed.
pub struct Bed {
    pub(crate) name: String,
    pub(crate) path: PathParams,
    pub(crate) truth: Truth,
    pub(crate) monitor: Packets,
    pub(crate) server: Packets,
    pub(crate) at_monitor: Analysed,
    pub(crate) at_server: Analysed,
    pub(crate) tshark: Option<Tshark>,
    pub(crate) tshark_at_server: Option<Tshark>,
    pub(crate) tcptrace: Option<Tcptrace>,
}

impl Bed {
    /// Runs the scenario for `secs` and leaves its record in `folder`.
    pub fn make(name: &str, secs: u64, seed: u64, folder: &Path) -> Result<(), ScoreError> {
        let params = RunParams {
            scenario: scenario(name, seed)?,
            name: name.to_owned(),
            seed,
            length: Duration::from_secs(secs),
            folder: folder.to_owned(),
            capture: Capture::Headers,
            kernel: true,
        };
        unbloat_truth::run(&params, &AtomicBool::new(false))?;
        Ok(())
    }

    /// Reads and analyses what is in `folder`.
    pub fn read(name: &str, folder: &Path, tools: Tools) -> Result<Bed, ScoreError> {
        // Rates depend on the seed, and are read from the record; the rest of the path does not.
        let path = scenario(name, 0)?.path;
        let [monitor, server] = ["monitor.pcap", "server.pcap"].map(|file| folder.join(file));
        let params = params(&path);
        let ask = tools == Tools::Ask;
        Ok(Bed {
            name: name.to_owned(),
            truth: Truth::read(folder)?,
            at_monitor: Analysed::read(&monitor, params.clone())?,
            at_server: Analysed::read(&server, params)?,
            tshark: ask.then(|| Tshark::read(&monitor)).transpose()?,
            tshark_at_server: ask.then(|| Tshark::read(&server)).transpose()?,
            tcptrace: ask.then(|| Tcptrace::read(&monitor)).transpose()?,
            monitor: Packets::read(&monitor, false)?,
            server: Packets::read(&server, true)?,
            path,
        })
    }
}

fn scenario(name: &str, seed: u64) -> Result<Scenario, ScoreError> {
    Scenario::named(name, seed).ok_or_else(|| ScoreError::UnknownScenario(name.to_owned()))
}

/// Every sample kept; `T` is the bed's own tail, where it has a radio, and as far beyond it as in
/// the paper (13 s for 10 s).
fn params(path: &PathParams) -> Params {
    let defaults = Params::default();
    Params {
        bin: Delta::ZERO,
        promotion_silence: path
            .radio
            .map_or(defaults.promotion_silence, |radio| radio.tail),
        ..defaults
    }
}
