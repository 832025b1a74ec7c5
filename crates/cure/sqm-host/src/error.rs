//! What can go wrong.

use std::io;
use std::time::Duration;
use unbloat_os::privilege::advice;
use unbloat_sqm::Device;
use unbloat_sqm::uci::UciError;
use unbloat_undo::UndoError;
use unbloat_untrusted::one_line;

#[derive(Debug, thiserror::Error)]
pub enum ShaperError {
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("cannot run {program}: {source}; install {}", package(program))]
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
    #[error("tc does not work: {said}; install iproute2 again")]
    Broken { said: String },
    #[error(
        "this process may not change queue disciplines: it lacks CAP_NET_ADMIN; run it as root, in a container with that capability"
    )]
    NoRight,
    #[error(
        "what arrives on {device} cannot be shaped by the kernel: {device} has a {kind} discipline already, whose filters may be another program's; {WITHOUT_IFB}"
    )]
    Entry { device: Device, kind: String },
    #[error(
        "{device} has a queue discipline \"{kind}\" already; remove it first (tc qdisc del dev {device} root)"
    )]
    Root { device: Device, kind: String },
    #[error(
        "what arrives on {device} cannot be shaped by the kernel: {} exists already, {}; {WITHOUT_IFB}",
        device.ifb(),
        user(owner.as_ref())
    )]
    Ifb {
        device: Device,
        owner: Option<Device>,
    },
    #[error("{target}: {source}")]
    There {
        target: String,
        source: Box<ShaperError>,
    },
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

impl ShaperError {
    /// Whether something of others is in the way, which nobody may take away.
    pub fn is_of_others(&self) -> bool {
        match self {
            ShaperError::Root { .. }
            | ShaperError::Entry { .. }
            | ShaperError::Ifb { .. }
            | ShaperError::Undo(UndoError::CannotSave { .. }) => true,
            ShaperError::There { source, .. } => source.is_of_others(),
            _ => false,
        }
    }
}

/// Ways out that touch nothing of others.
const WITHOUT_IFB: &str =
    "shape what leaves alone (--rate-up without --rate-down), or both ways with unbloat shape";

fn package(program: &str) -> &'static str {
    match program {
        "ssh" => "openssh-client",
        _ => "iproute2",
    }
}

fn user(owner: Option<&Device>) -> String {
    match owner {
        Some(owner) => format!("and what arrives on {owner} is sent there"),
        None => "and unbloat did not make it".to_owned(),
    }
}
