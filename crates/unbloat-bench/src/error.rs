//! What can go wrong while measuring.

use std::path::{Path, PathBuf};
use unbloat_capture::CaptureError;

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("{path}: {source}")]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot run {program:?}: {source}")]
    Spawn {
        program: String,
        source: std::io::Error,
    },
    #[error("{program:?} ended with {status}; run it by hand to see why")]
    Failed { program: String, status: i32 },
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("packet {number} of the base capture is not IPv4 with TCP or UDP in Ethernet")]
    Foreign { number: usize },
    #[error("the base capture has no flow that {name:?} could be made of")]
    NoFlows { name: &'static str },
    #[error("there is no capture {name:?}; there are {known}")]
    NoCapture { name: String, known: String },
    #[error("{tool} says {line:?}, which this program cannot read")]
    Output { tool: &'static str, line: String },
}

/// Says which file an I/O error is about.
pub fn at(path: &Path) -> impl FnOnce(std::io::Error) -> BenchError {
    let path = path.to_owned();
    move |source| BenchError::File { path, source }
}
