//! Why nothing could be shaped.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum ShapeError {
    #[error("there is no interface {0:?}; `ip link` lists them")]
    NoInterface(String),
    #[error(
        "{0:?} is not a valid interface name: use 1 to 15 characters without spaces and slashes"
    )]
    BadName(String),
    #[error("another unbloat process already shapes {interface}; stop it first")]
    Taken { interface: String },
    #[error("cannot shape: {0}; run as root or with CAP_NET_ADMIN")]
    NotAllowed(io::Error),
    #[error(
        "the kernel cannot queue packets to user space: {0}; it needs nftables and nfnetlink_queue"
    )]
    NoQueue(io::Error),
    #[error("cannot start the shaping thread: {0}")]
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
