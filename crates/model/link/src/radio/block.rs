//! What a block of the uplink carries beside data.

use super::rlc::HEADER;
use unbloat_uplink::Bsr;

/// A short report and its subheader.
pub(crate) const REPORT: u64 = 2;

/// What the headers of a block take beside its data.
pub(crate) const OVERHEAD: u64 = HEADER + REPORT;

/// What a phone tells in a block, and the TTI of which it tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) tti: i64,
    pub(crate) level: Bsr,
}
