//! Why nothing could be shaped.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum ShapeError {
    #[error("no interface is named {0:?}; `ip link` lists them")]
    NoInterface(String),
    #[error("{0:?} is no name of an interface: 1 to 15 characters without blanks and slashes")]
    BadName(String),
    #[error("{interface} is shaped by another unbloat already; stop that one first")]
    Taken { interface: String },
    #[error("to shape takes CAP_NET_ADMIN: run it as root ({0})")]
    NotAllowed(io::Error),
    #[error("the kernel has no way to hold packets (nftables with nfnetlink_queue): {0}")]
    NoQueue(io::Error),
    #[error("no thread to shape on: {0}")]
    Thread(io::Error),
    #[error("{doing}: {source}")]
    Kernel {
        doing: &'static str,
        source: io::Error,
    },
}

impl ShapeError {
    pub(crate) fn kernel(doing: &'static str) -> impl Fn(io::Error) -> ShapeError {
        move |source| match source.raw_os_error() {
            Some(1 | 13) => ShapeError::NotAllowed(source),
            _ => ShapeError::Kernel { doing, source },
        }
    }
}
