//! Why a server could not be had.

use std::io;
use std::net::SocketAddr;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot listen on {address} ({what}): {source}")]
    Bind {
        what: &'static str,
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot become the user {name:?}: {source}")]
    User { name: String, source: io::Error },
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    #[error("the certificate file has no certificate in PEM form")]
    NoCertificate,
    #[error("cannot read certificate or key: {0}")]
    Pem(rustls::pki_types::pem::Error),
    #[error("certificate and key do not serve: {0}")]
    Tls(#[from] rustls::Error),
    #[error("the certificate's key does not serve for QUIC")]
    Quic,
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
}
