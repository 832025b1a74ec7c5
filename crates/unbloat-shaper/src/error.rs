//! What can go wrong.

use std::io;
use std::time::Duration;
use unbloat_said::one_line;
use unbloat_sqm::uci::UciError;
use unbloat_undo::UndoError;

#[derive(Debug, thiserror::Error)]
pub enum ShaperError {
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("could not run {program}: {source}; it comes with iproute2, or with openssh-client")]
    Start { program: String, source: io::Error },
    #[error("`{command}` was refused: {said}")]
    Refused { command: String, said: String },
    #[error("{program} did not end within {} s", limit.as_secs())]
    Slow { program: String, limit: Duration },
    #[error("what tc tells of {device} cannot be read: {}", one_line(&source.to_string()))]
    Queues {
        device: String,
        source: serde_json::Error,
    },
    #[error("unbloat's own cake is a process: hold it (--hold), or run unbloat shape as a service")]
    OwnCakeIsHeld,
    #[error("could not switch off what makes several packets one on {device}: {source}")]
    Offloads { device: String, source: io::Error },
    #[error("could not look what the kernel offers: {0}")]
    Probe(io::Error),
    #[error(
        "\"{}\" is no target of ssh: [USER@]HOST of letters, digits, . _ : -, not beginning with -",
        target.escape_debug()
    )]
    Target { target: String },
    #[error("{target}: ssh failed: {said}")]
    Ssh { target: String, said: String },
    #[error("{target}: the router's answer makes no sense: \"{said}\"")]
    Reply { target: String, said: String },
    #[error("{target}: {said}")]
    Router { target: String, said: String },
    #[error(
        "{target}: no contact after the change ({why}); the router takes it back by itself within {} s",
        within.as_secs()
    )]
    LostContact {
        target: String,
        why: Box<ShaperError>,
        within: Duration,
    },
    #[error(transparent)]
    Uci(#[from] UciError),
    #[error("{target}: its configuration: {source}")]
    Config { target: String, source: UciError },
    #[error("a plan could not be written down or read again: {0}")]
    Note(#[from] serde_json::Error),
}
