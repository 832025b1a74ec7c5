//! What can go wrong.

use crate::options::Kind;
use std::io;
use std::net::IpAddr;

#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    #[error("{kind} probes need {need}: {source}; try --probe {other}")]
    Privilege {
        kind: Kind,
        need: &'static str,
        other: Kind,
        source: io::Error,
    },
    #[error("a socket for {kind} probes to {target} cannot be had: {source}")]
    Socket {
        kind: Kind,
        target: IpAddr,
        source: io::Error,
    },
    #[error("probes to {target} cannot be sent: {source}")]
    Send { target: IpAddr, source: io::Error },
    #[error("answers cannot be read: {source}")]
    Receive { source: io::Error },
    #[error("nobody on the way to {target} answers {kind} probes; try --probe {other}")]
    NoAnswer {
        target: IpAddr,
        kind: Kind,
        other: Kind,
    },
    #[error("the {direction} load failed: {message}")]
    Load {
        direction: unbloat_hop::Phase,
        message: String,
    },
    #[error("stopped before anything was measured")]
    Stopped,
    #[error("{what} is not possible: give {bound}")]
    Option { what: String, bound: &'static str },
}
