//! Why rates could not be followed.

use std::io;
use unbloat_capture::CaptureError;

#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("tc cannot be run: {0}; it is in Debian's package iproute2")]
    NoTc(io::Error),
    #[error("tc {arguments}: {said}")]
    Tc { arguments: String, said: String },
    #[error(
        "{device} has no shaper whose rate could be changed: root is {found:?}, not cake or htb"
    )]
    NoShaper { device: String, found: String },
    #[error("probes cannot be sent: {0}; that takes CAP_NET_RAW")]
    Probe(io::Error),
}
