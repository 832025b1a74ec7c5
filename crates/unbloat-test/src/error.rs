//! What keeps a test from being measured at all. What goes wrong within one is part of what was measured.

use crate::target::Target;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum TestError {
    #[error("cannot begin: {0}")]
    Begin(#[source] io::Error),
    #[error("cannot find {host}: {source}")]
    Name { host: String, source: io::Error },
    #[error("{host} has no address of the wanted version of IP")]
    NoAddress { host: String },
    #[error(
        "cannot connect to {to}: {source}; is `unbloat serve` running there, and is the port open?"
    )]
    Connect { to: SocketAddr, source: io::Error },
    #[error(
        "the certificate of {to} is not trusted ({}); pass --pin FINGERPRINT as `unbloat serve` prints it there (or set UNBLOAT_PIN once), --ca FILE, or --insecure to skip the check",
        said(.reason)
    )]
    Certificate { to: String, reason: String },
    #[error("cannot read {path}: {reason}", path = path.display())]
    Authorities { path: PathBuf, reason: String },
    #[error("this system knows no certificate authorities; give --ca FILE, or --pin SHA256")]
    NoAuthorities,
    #[error("{to} speaks no HTTP/{wanted}: {reason}")]
    Http {
        to: String,
        wanted: &'static str,
        reason: String,
    },
    #[error("{url} answered {status}{}", words(.text))]
    Refused {
        url: String,
        status: u16,
        text: String,
    },
    #[error("{url} describes no server of tests: {reason}")]
    Config { url: String, reason: String },
    #[error(
        "this system's TCP has no congestion control {name:?} for us ({source}); it has {available}"
    )]
    CongestionControl {
        name: String,
        available: String,
        source: io::Error,
    },
    #[error("{0} echoes no datagrams there: {1}")]
    NoEcho(String, String),
    #[error("cannot measure {target} so: {reason}")]
    Unsupported {
        target: Target,
        reason: &'static str,
    },
    #[error("stopped before anything was measured")]
    Stopped,
}

/// What a server says, as far as it fits one line of ours.
fn said(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

fn words(text: &str) -> String {
    match said(text) {
        said if said.is_empty() => said,
        said => format!(": {said}"),
    }
}
