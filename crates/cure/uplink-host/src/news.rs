//! What is seen of a device and the modem behind it.

use std::error::Error;
use unbloat_units::Bytes;
use unbloat_uplink::Occupancy;

#[derive(Debug)]
pub(crate) enum News {
    Occupancy(Occupancy),
    /// So much has left the queue discipline.
    Left(Bytes),
    /// Nothing more will be seen.
    Ended(Box<dyn Error + Send + Sync>),
}
