//! A bed's folder and everything read from it.

use crate::analysed::Analysed;
use crate::error::ValidateError;
use crate::packets::Packets;
use crate::scenario::Plan;
use crate::tools::{Tcptrace, Tshark, tcptrace};
use crate::truth::Truth;
use std::path::Path;
use unbloat_trace::Params;
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
    pub(crate) plan: Plan,
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
    /// Reads and analyses what is in `folder`.
    pub fn read(name: &str, folder: &Path, tools: Tools) -> Result<Bed, ValidateError> {
        // Rates depend on the seed, and are read from the record; the rest of the path does not.
        let plan =
            Plan::named(name, 0).ok_or_else(|| ValidateError::UnknownBed(name.to_owned()))?;
        let [monitor, server] = ["monitor.pcap", "server.pcap"].map(|file| folder.join(file));
        let params = params(&plan);
        let ask = tools == Tools::Ask;
        Ok(Bed {
            name: name.to_owned(),
            truth: Truth::read(folder)?,
            at_monitor: Analysed::read(&monitor, params.clone())?,
            at_server: Analysed::read(&server, params)?,
            tshark: ask.then(|| Tshark::read(&monitor)).transpose()?,
            tshark_at_server: ask.then(|| Tshark::read(&server)).transpose()?,
            tcptrace: ask.then(|| tcptrace(&monitor)).transpose()?,
            monitor: Packets::read(&monitor, false)?,
            server: Packets::read(&server, true)?,
            plan,
        })
    }
}

/// Every sample kept; `T` is the bed's own tail, where it has a radio, and as far beyond it as in
/// the paper (13 s for 10 s).
fn params(plan: &Plan) -> Params {
    let defaults = Params::default();
    Params {
        bin: Delta::ZERO,
        promotion_silence: plan
            .radio
            .map_or(defaults.promotion_silence, |radio| radio.tail),
        ..defaults
    }
}
