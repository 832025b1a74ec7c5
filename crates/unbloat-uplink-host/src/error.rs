//! What can go wrong.

use std::io;
use std::path::PathBuf;
use unbloat_undo::UndoError;

#[derive(Debug, thiserror::Error)]
pub enum UplinkError {
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("tc could not be run ({0}): it is of the package iproute2")]
    NoTc(io::Error),
    #[error("tc {words}: {said}")]
    Tc { words: String, said: String },
    #[error("{device}: the rate could not be set: {source}")]
    Rate { device: String, source: io::Error },
    #[error("there is no device {device:?} here; `ip link` lists them")]
    NoDevice { device: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "{text:?} is no source; delay is, and modem:PATH and bsr:PATH, where PATH is a socket, a pipe or a file"
    )]
    NoSource { text: String },
    #[error("{device}: what passes it cannot be seen: {source}")]
    Tap {
        device: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("{text:?} has no limit of that kind: {why}")]
    NoLimit { text: String, why: &'static str },
}
