//! What new connections are shown: the certificate may change while the server runs, and connections that are there go on.

use crate::certificate::{fingerprint, read};
use crate::error::ServeError;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The server's certificate.
pub struct Certificates {
    current: Mutex<Arc<CertifiedKey>>,
}

impl Certificates {
    pub(crate) fn new(first: CertifiedKey) -> Certificates {
        Certificates {
            current: Mutex::new(Arc::new(first)),
        }
    }

    /// SHA-256 of the server's own certificate, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.get())
    }

    fn get(&self) -> Arc<CertifiedKey> {
        let current = self.current.lock();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows this chain from now on (PEM). What cannot be used changes nothing.
    pub fn replace(&self, chain: &[u8], key: &[u8]) -> Result<(), ServeError> {
        let new = Arc::new(read(chain, key)?);
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
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
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.get())
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Certificates")
            .field(&self.fingerprint())
            .finish()
    }
}
