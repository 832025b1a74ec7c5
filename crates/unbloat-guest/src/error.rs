//! What can go wrong around a guest.

use std::path::PathBuf;
use std::time::Duration;
use unbloat_bed::BedError;

/// Why a guest's kernel could not be built, or a guest not run.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    #[error("the guest's kernel runs on x86-64 Linux only, not on {architecture}")]
    Architecture { architecture: &'static str },
    #[error("building the guest's kernel needs {}; as root, run: apt-get install {}", commands.join(", "), packages.join(" "))]
    Missing {
        commands: Vec<&'static str>,
        packages: Vec<&'static str>,
    },
    #[error(
        "apt knows no package {package}, which holds the kernel's source: it comes with Debian 12 (security) and 13; run apt-get update first"
    )]
    NoSource { package: &'static str },
    #[error("building the guest's kernel failed at \"{step}\"; the whole log is {}:\n{tail}", log.display())]
    Build {
        step: String,
        log: PathBuf,
        tail: String,
    },
    #[error("no folder to cache the guest's kernel in: set XDG_CACHE_HOME or HOME")]
    NoCache,
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("could not start {command}: {source}")]
    Start {
        command: String,
        source: std::io::Error,
    },
    #[error(
        "the guest did not end within {limit:?} (a program that waits by spinning never ends in virtual time); its console ends:\n{console}"
    )]
    TimedOut { limit: Duration, console: String },
    #[error("stopped")]
    Stopped,
    #[error("the guest ended without a word; its console ends:\n{console}")]
    Died { console: String },
    #[error("in the guest: {message}")]
    Inside { message: String },
    #[error("could not build the referee's program: {log}")]
    Program { log: String },
    #[error(
        "no static guest-init lies beside {}: run it by cargo, or build guest-init with RUSTFLAGS=\"-C target-feature=+crt-static\" and put it there",
        beside.display()
    )]
    NoProgram { beside: PathBuf },
    #[error(transparent)]
    Queue(#[from] BedError),
    #[error("the guest wrote an outcome that cannot be read: {source}")]
    Outcome { source: serde_json::Error },
}

/// Names the file in an I/O error.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> GuestError {
    let path = path.into();
    move |source| GuestError::File { path, source }
}
