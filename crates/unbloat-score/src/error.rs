//! What can go wrong when a bed is scored.

use std::path::PathBuf;
use unbloat_capture::CaptureError;
use unbloat_truth::LabError;

/// Why a bed could not be scored.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    #[error("no scenario is called \"{0}\"; `truth-bed --help` lists them")]
    UnknownScenario(String),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("{}: {source}; make the bed anew with `truth-bed`", path.display())]
    Truth { path: PathBuf, source: csv::Error },
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("could not start `{command}` ({source}); install it, or leave it out with --no-tools")]
    NoCommand {
        command: &'static str,
        source: std::io::Error,
    },
    #[error("`{command}` failed: {stderr}")]
    Command {
        command: &'static str,
        stderr: String,
    },
}
