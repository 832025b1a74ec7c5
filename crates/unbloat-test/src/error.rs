//! What keeps a test from being measured at all. What goes wrong within one is part of what was measured.

use crate::target::Target;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use unbloat_said::one_line;

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
        one_line(.reason)
    )]
    Certificate { to: String, reason: String },
    #[error("cannot read {path}: {reason}", path = path.display())]
    Authorities { path: PathBuf, reason: String },
    #[error("this system knows no certificate authorities; give --ca FILE, or --pin SHA256")]
    NoAuthorities,
    #[error("{to} speaks no HTTP/{wanted}: {}", one_line(.reason))]
    Http {
        to: String,
        wanted: &'static str,
        reason: String,
    },
    #[error(
        "{request} got no whole answer in {waited_s} s, though the connection stands; check that `unbloat serve` or another server of tests listens there and that no proxy is between, then try again"
    )]
    Silent { request: String, waited_s: f64 },
    #[error("{url} answered {status}{}", words(.text))]
    Refused {
        url: String,
        status: u16,
        text: String,
    },
    #[error("{url} describes no server of tests: {}", one_line(.reason))]
    Config { url: String, reason: String },
    #[error(
        "the server wants its load carried by {named} (test_endpoint of its description), which is refused: {}",
        one_line(.reason)
    )]
    Endpoint { named: SocketAddr, reason: String },
    #[error(
        "this system's TCP has no congestion control {name:?} for us ({source}); it has {available}"
    )]
    CongestionControl {
        name: String,
        available: String,
        source: io::Error,
    },
    #[error("{to} echoes no datagrams there: {}", one_line(.reason))]
    NoEcho { to: SocketAddr, reason: String },
    #[error("cannot measure {target} so: {reason}")]
    Unsupported {
        target: Target,
        reason: &'static str,
    },
    #[error("stopped before anything was measured")]
    Stopped,
}

fn words(text: &str) -> String {
    match one_line(text) {
        said if said.is_empty() => said,
        said => format!(": {said}"),
    }
}
