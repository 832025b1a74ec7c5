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
    #[error("{program:?} exited with status {status}; run it in a shell to see why")]
    Failed { program: String, status: i32 },
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("packet {number} of the base capture is not TCP or UDP over IPv4 over Ethernet")]
    Foreign { number: usize },
    #[error("the base capture has no flow to build {name:?} from")]
    NoFlows { name: &'static str },
    #[error("there is no capture {name:?}; the captures are {known}")]
    NoCapture { name: String, known: String },
    #[error("cannot parse the output of {tool}: {line:?}")]
    Output { tool: &'static str, line: String },
}

/// Says which file an I/O error is about.
pub fn at(path: &Path) -> impl FnOnce(std::io::Error) -> BenchError {
    let path = path.to_owned();
    move |source| BenchError::File { path, source }
}
