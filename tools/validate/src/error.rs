//! What can go wrong when the analyser is scored.

use std::path::PathBuf;
use unbloat_capture::CaptureError;
use unbloat_experiment::scenario::toml::Error as ScenarioError;
use unbloat_lab::LabError;

/// Why a bed could not be made or scored.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    #[error("there is no bed \"{0}\"; `unbloat-validate bed --help` lists them")]
    UnknownBed(String),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("{}: {source}; make the bed again with `unbloat-validate bed`", path.display())]
    Csv { path: PathBuf, source: csv::Error },
    #[error("{}: {source}; make the bed again with `unbloat-validate bed`", path.display())]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "cannot start `{command}` ({source}); install it, or leave it out with --no-tools or --no-sender"
    )]
    NoCommand {
        command: &'static str,
        source: std::io::Error,
    },
    #[error("`{command}` failed: {stderr}")]
    Command {
        command: &'static str,
        stderr: String,
    },
    #[error("the kernel rejects the BPF programs ({0}); pass --no-sender to run without them")]
    Ebpf(Box<dyn std::error::Error + Send + Sync>),
    #[error("the log of the server's kernel failed; its own message is above")]
    NoSenderLog,
    #[error(
        "the log of the server's kernel began {late_ms} ms after the flows; run it again when the machine is less busy"
    )]
    LateSenderLog { late_ms: i64 },
    #[error("{missed} packets are missing in the server's capture; run it again")]
    Missed { missed: u64 },
    #[error(
        "the system clock was set during the run, so the captures are inconsistent; run it again"
    )]
    ClockSet,
}

/// Names the file in an I/O error.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> ValidateError {
    let path = path.into();
    move |source| ValidateError::File { path, source }
}
