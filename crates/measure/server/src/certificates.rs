//! What new connections are shown: the certificate may change while the server runs, and connections that are there go on.

use crate::certificate::{fingerprint, read, unchecked};
use crate::error::ServeError;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// An authority asks by this protocol whether a domain is this server's (RFC 8737). No request follows.
pub const PROOF_PROTOCOL: &[u8] = b"acme-tls/1";

/// The server's certificate, and for a while a second one that proves to an authority whose domain it is.
pub struct Certificates {
    current: Mutex<Arc<CertifiedKey>>,
    proof: Mutex<Option<Arc<CertifiedKey>>>,
}

impl Certificates {
    pub(crate) fn new(first: CertifiedKey) -> Certificates {
        Certificates {
            current: Mutex::new(Arc::new(first)),
            proof: Mutex::new(None),
        }
    }

    /// SHA-256 of the server's own certificate, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        let current = get(&self.current);
        fingerprint(&current)
    }

    /// Shows this chain from now on (PEM). What cannot be used changes nothing.
    pub fn replace(&self, chain: &[u8], key: &[u8]) -> Result<(), ServeError> {
        set(&self.current, Arc::new(read(chain, key)?));
        Ok(())
    }

    /// Shows this chain (PEM) to an authority that asks for a proof, until [`Certificates::prove_nothing`].
    pub fn prove(&self, chain: &[u8], key: &[u8]) -> Result<(), ServeError> {
        set(&self.proof, Some(Arc::new(unchecked(chain, key)?)));
        Ok(())
    }

    pub fn prove_nothing(&self) {
        set(&self.proof, None);
    }

    /// For TLS over TCP or within QUIC, speaking `protocols`.
    ///
    /// No tickets: each probe of the draft is to be a full handshake, and a ticket is 500 bytes in the path's queue.
    pub(crate) fn config(
        self: &Arc<Self>,
        protocols: &[&[u8]],
    ) -> Result<ServerConfig, ServeError> {
        let resolver = Arc::clone(self);
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = protocols.iter().map(|p| p.to_vec()).collect();
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut protocols = hello.alpn().into_iter().flatten();
        match (protocols.next(), protocols.next()) {
            (Some(PROOF_PROTOCOL), None) => get(&self.proof),
            _ => Some(get(&self.current)),
        }
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Certificates")
            .field(&self.fingerprint())
            .finish()
    }
}

fn get<T: Clone>(kept: &Mutex<T>) -> T {
    kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn set<T>(kept: &Mutex<T>, value: T) {
    *kept.lock().unwrap_or_else(PoisonError::into_inner) = value;
}
