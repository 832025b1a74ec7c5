//! What a source has said of the modem.

use crate::report::ReportError;
use std::io;
use unbloat_units::Bytes;
use unbloat_uplink::Occupancy;

/// What a source has said.
#[derive(Debug)]
pub(crate) enum News {
    Occupancy(Occupancy),
    /// So much has left the discipline, says a source that sees it.
    Left(Bytes),
    /// A line that is no report of this kind.
    Refused(ReportError),
    /// It has ended, and is tried again.
    Ended(io::Error),
}
