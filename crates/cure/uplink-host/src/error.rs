//! What can go wrong.

use std::io;
use unbloat_undo::UndoError;

#[derive(Debug, thiserror::Error)]
pub enum UplinkError {
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("cannot run tc ({0}); install iproute2")]
    NoTc(io::Error),
    #[error("tc {words}: {said}")]
    Tc { words: String, said: String },
    #[error("{device}: cannot set the rate: {source}")]
    Rate { device: String, source: io::Error },
    #[error("there is no interface {device:?}; `ip link` lists them")]
    NoDevice { device: String },
    #[error("{device}: cannot observe its packets: {source}")]
    Tap {
        device: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
