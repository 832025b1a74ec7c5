//! What can go wrong around a guest.

use std::path::PathBuf;
use std::time::Duration;
use unbloat_netns::BedError;

/// Why a guest's kernel could not be built, or a guest not run.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    #[error("the guest's kernel runs on x86-64 Linux only, not on {architecture}")]
    Architecture { architecture: &'static str },
    #[error("building the guest's kernel needs {}; run as root: apt-get install {}", commands.join(", "), packages.join(" "))]
    Missing {
        commands: Vec<&'static str>,
        packages: Vec<&'static str>,
    },
    #[error(
        "apt has no package {package} (kernel source, in Debian 12 security and Debian 13); run apt-get update first"
    )]
    NoSource { package: &'static str },
    #[error("building the guest's kernel failed at \"{step}\"; the complete log is {}:\n{tail}", log.display())]
    Build {
        step: String,
        log: PathBuf,
        tail: String,
    },
    #[error("no cache directory for the guest's kernel; set XDG_CACHE_HOME or HOME")]
    NoCache,
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot start {command}: {source}")]
    Start {
        command: String,
        source: std::io::Error,
    },
    #[error(
        "the guest did not exit within {limit:?} (a busy-waiting program never ends in virtual time); its console ends with:\n{console}"
    )]
    TimedOut { limit: Duration, console: String },
    #[error("stopped")]
    Stopped,
    #[error("the guest exited without a result; its console ends with:\n{console}")]
    Died { console: String },
    #[error("in the guest: {message}")]
    Inside { message: String },
    #[error("cannot build the referee program: {log}")]
    Program { log: String },
    #[error(
        "there is no static guest-init next to {}; run it with cargo, or build guest-init with RUSTFLAGS=\"-C target-feature=+crt-static\" and copy it there",
        beside.display()
    )]
    NoProgram { beside: PathBuf },
    #[error(transparent)]
    Queue(#[from] BedError),
    #[error("cannot read the guest's result: {source}")]
    Outcome { source: serde_json::Error },
}

/// Names the file in an I/O error.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> GuestError {
    let path = path.into();
    move |source| GuestError::File { path, source }
}
