//! What can go wrong.

use std::io;
use std::time::Duration;
use unbloat_os::privilege::advice;
use unbloat_sqm::uci::UciError;
use unbloat_undo::UndoError;
use unbloat_untrusted::one_line;

#[derive(Debug, thiserror::Error)]
pub enum ShaperError {
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("cannot run {program}: {source}; install iproute2 or openssh-client")]
    Start { program: String, source: io::Error },
    #[error("`{command}` failed: {said}")]
    Refused { command: String, said: String },
    #[error("{program} did not finish within {} s", limit.as_secs())]
    Slow { program: String, limit: Duration },
    #[error("cannot parse the output of tc for {device}: {}", one_line(&source.to_string()))]
    Queues {
        device: String,
        source: serde_json::Error,
    },
    #[error("unbloat's own cake runs as a process; pass --hold or run unbloat shape as a service")]
    OwnCakeIsHeld,
    #[error(
        "cannot disable GSO, TSO and GRO on {device}: {source}{}",
        advice(source)
    )]
    Offloads { device: String, source: io::Error },
    #[error("cannot determine which queue disciplines the kernel has: {0}{advice}", advice = advice(.0))]
    Probe(io::Error),
    #[error(
        "\"{}\" is not a valid ssh target: give [USER@]HOST of letters, digits and . _ : -, not beginning with -",
        target.escape_debug()
    )]
    Target { target: String },
    #[error("{target}: ssh failed: {said}")]
    Ssh { target: String, said: String },
    #[error("{target}: cannot parse the router's answer: \"{said}\"")]
    Reply { target: String, said: String },
    #[error("{target}: {said}")]
    Router { target: String, said: String },
    #[error(
        "{target}: connection lost after the change ({why}); the router rolls it back automatically within {} s",
        within.as_secs()
    )]
    LostContact {
        target: String,
        why: Box<ShaperError>,
        within: Duration,
    },
    #[error(transparent)]
    Uci(#[from] UciError),
    #[error("{target}: invalid configuration: {source}")]
    Config { target: String, source: UciError },
    #[error("cannot save or load a plan: {0}")]
    Note(#[from] serde_json::Error),
}
