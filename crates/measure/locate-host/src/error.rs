//! What can go wrong.

use crate::probe::Kind;
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
    #[error("cannot open a socket for {kind} probes to {target}: {source}")]
    Socket {
        kind: Kind,
        target: IpAddr,
        source: io::Error,
    },
    #[error("cannot send probes to {target}: {source}")]
    Send { target: IpAddr, source: io::Error },
    #[error("cannot receive answers: {source}")]
    Receive { source: io::Error },
    #[error("no hop on the path to {target} answers {kind} probes; try --probe {other}")]
    NoAnswer {
        target: IpAddr,
        kind: Kind,
        other: Kind,
    },
    #[error("the {direction} load failed: {message}")]
    Load {
        direction: unbloat_locate::Phase,
        message: String,
    },
    #[error("stopped before anything was measured")]
    Stopped,
    #[error("{what} is out of range: give {bound}")]
    Option { what: String, bound: &'static str },
}

impl LocateError {
    /// Why probes of this kind cannot be sent there.
    pub(crate) fn unopened(kind: Kind, target: IpAddr, source: io::Error) -> LocateError {
        match source.kind() {
            io::ErrorKind::PermissionDenied => LocateError::Privilege {
                kind,
                need: kind.need(),
                other: kind.other(),
                source,
            },
            _ => LocateError::Socket {
                kind,
                target,
                source,
            },
        }
    }
}
