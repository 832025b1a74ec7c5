//! Why a server could not be had.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot listen on {address} ({what}): {source}{}", privileged(source))]
    Bind {
        what: &'static str,
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot switch to user {name:?}: {source}")]
    User { name: String, source: io::Error },
    #[error("cannot generate a certificate: {0}")]
    Make(#[from] rcgen::Error),
    #[error("cannot read the certificate in {}: {source}", file.display())]
    Kept { file: PathBuf, source: io::Error },
    #[error("the certificate file contains no PEM certificate")]
    NoCertificate,
    #[error("cannot read certificate or key: {0}")]
    Pem(rustls::pki_types::pem::Error),
    #[error("certificate and key cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    #[cfg(feature = "http3")]
    #[error("the certificate's key cannot be used for QUIC")]
    Quic,
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
}

fn privileged(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need root or CAP_NET_BIND_SERVICE, other ports do not"
        }
        _ => "",
    }
}
