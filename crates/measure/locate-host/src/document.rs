//! The document of `unbloat locate`: what `--json` prints and `locate.json` holds.

use crate::{Counts, Located, Options};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::IpAddr;
use unbloat_locate::LoadVerdict;

/// Raised when a key changes its meaning or is removed.
const VERSION: u32 = 1;

/// At which hop each load fills a queue.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Document {
    /// `unbloat locate`.
    pub format: &'static str,
    pub format_version: u32,
    pub target: IpAddr,
    /// `udp`, `tcp` or `icmp`.
    pub probe: &'static str,
    /// Number of the last hop; null if the target did not answer.
    pub far_end_hop: Option<u8>,
    /// The run was stopped: loads that were not measured have no verdict.
    pub is_cut: bool,
    /// Why a load failed and has no verdict, nor have those after it.
    pub failed: Option<String>,
    /// One verdict per load.
    pub verdicts: Vec<LoadVerdict>,
    pub probes: Counts,
}

impl Document {
    pub fn new(options: &Options, located: &Located) -> Document {
        Document {
            format: "unbloat locate",
            format_version: VERSION,
            target: options.target,
            probe: options.kind.name(),
            far_end_hop: located.far_end,
            is_cut: located.is_cut,
            failed: located.failed.clone(),
            verdicts: located.verdicts.iter().map(LoadVerdict::from).collect(),
            probes: located.counts,
        }
    }
}
