//! What keeps a test from being measured at all. What goes wrong within one is part of what was measured.

use crate::target::Target;
use std::io;
use std::net::SocketAddr;
use unbloat_untrusted::one_line;

#[derive(Debug, thiserror::Error)]
pub enum TestError {
    #[error("cannot start: {0}")]
    Begin(#[source] io::Error),
    #[error("cannot resolve {host}: {source}; check the name, or give an address")]
    Name { host: String, source: io::Error },
    #[error("{host} has no address of the requested IP version; omit -4 or -6")]
    NoAddress { host: String },
    #[error(
        "cannot connect to {to}: {source}; is `unbloat serve` running there, and is the port open?"
    )]
    Connect { to: SocketAddr, source: io::Error },
    #[error(
        "the certificate of {to} is not trusted ({}); pass --pin FINGERPRINT as printed by `unbloat serve` (or set UNBLOAT_PIN), --ca FILE, or HOST and --insecure to skip verification",
        one_line(.reason)
    )]
    Certificate { to: String, reason: String },
    #[error(
        "what answers for {to} does not have that service's certificate ({}): a login page or a proxy of this network may stand before it; log in with a browser, then test again",
        one_line(.reason)
    )]
    Impostor { to: String, reason: String },
    #[error(
        "the certificate of {to} does not have the fingerprint that --pin (or UNBLOAT_PIN) gives; if the server got a new certificate, use the fingerprint that it prints now, otherwise another server answers there"
    )]
    Pin { to: String },
    #[error("the certificates of --ca: {reason}")]
    Authorities { reason: String },
    #[error("this system has no certificate authorities; pass --ca FILE or --pin SHA256")]
    NoAuthorities,
    #[error("{to} does not support HTTP/{wanted}: {}", one_line(.reason))]
    Http {
        to: String,
        wanted: &'static str,
        reason: String,
    },
    #[error(
        "UDP port {port} of {ip} gives no answer, and HTTP/3 needs it; open it in the firewalls there and on the way, or take HTTP/1.1 or 2",
        port = to.port(), ip = to.ip()
    )]
    NoQuic { to: SocketAddr },
    #[error(
        "{request} got no complete answer in {waited_s} s, although the connection is established; check that `unbloat serve` or another test server listens there, without a proxy in between, then try again"
    )]
    Silent { request: String, waited_s: f64 },
    #[error("{url} answered {status}{}", words(.text))]
    Refused {
        url: String,
        status: u16,
        text: String,
    },
    #[error("{url} does not describe a test server: {}", one_line(.reason))]
    Config { url: String, reason: String },
    #[error(
        "refused to send load to {named}, which the server names in its description (test_endpoint): {}",
        one_line(.reason)
    )]
    Endpoint { named: SocketAddr, reason: String },
    #[error(
        "this system does not allow congestion control {name:?} ({source}); available: {available}"
    )]
    CongestionControl {
        name: String,
        available: String,
        source: io::Error,
    },
    #[error("{to} does not echo datagrams: {}", one_line(.reason))]
    NoEcho { to: SocketAddr, reason: String },
    #[error("cannot measure {target} with these options: {reason}")]
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

/// Libraries name their documentation; users need what happened.
fn plain(reason: String) -> String {
    match reason.contains("close_notify") {
        true => "connection closed by the server (no TLS close_notify)".to_owned(),
        false => reason,
    }
}

/// The innermost reason, which is what says something. It may be the words of the other side: a QUIC connection is closed with a
/// reason (RFC 9000, 19.19).
pub fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    one_line(&plain(inner.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[cfg(feature = "http3")]
    #[test]
    fn why_a_server_closed_is_told_without_its_escape_sequences() {
        let closed = quinn::ConnectionError::ConnectionClosed(quinn::ConnectionClose {
            error_code: quinn::TransportErrorCode::NO_ERROR,
            frame_type: None,
            reason: Bytes::from_static(b"x\x1b]0;OWNED\x07\x1b[2J\x1b[31m grade A+"),
        });
        let told = root(&io::Error::other(closed));
        assert!(told.ends_with("x]0;OWNED[2J[31m grade A+"), "{told:?}");
        assert!(!told.contains(char::is_control));
    }
}
