//! What can go wrong around a bed.

use std::path::PathBuf;
use unbloat_bed::BedError;

/// Why a bed could not be built or run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Bed(#[from] BedError),
    #[error("no scenario is called \"{name}\"; choose one of: {known}")]
    UnknownScenario { name: String, known: String },
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("could not start `{command}` ({source}); install the package that has it")]
    NoCommand {
        command: &'static str,
        source: std::io::Error,
    },
    #[error("`{command}` failed: {stderr}")]
    Command { command: String, stderr: String },
    #[error("the kernel refused the BPF programs ({source}); run with --no-kernel to go without")]
    Ebpf {
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the {what} thread stopped early; see its message above")]
    Thread { what: &'static str },
    #[error("the system's clock was set while the bed ran; its captures do not fit: run it again")]
    ClockSet,
    #[error("could not set up {what}: {source}")]
    Socket {
        what: &'static str,
        source: std::io::Error,
    },
}

/// Names the file in an I/O error.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> LabError {
    let path = path.into();
    move |source| LabError::File { path, source }
}
