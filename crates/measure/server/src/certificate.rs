//! Who the server is: a chain, a key, and what a client pins.

use crate::error::ServeError;
use crate::options::Certificate;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;

pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// `addresses` go into a certificate that is made.
    pub fn of(certificate: &Certificate, addresses: &[IpAddr]) -> Result<Identity, ServeError> {
        match certificate {
            Certificate::Made { names } => make(names, addresses),
            Certificate::Given { chain, key } => read(chain, key),
        }
    }

    /// SHA-256 of the server's own certificate, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(&self.chain[0]);
        digest.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes all");
            text
        })
    }

    /// For TLS over TCP or within QUIC, speaking `protocols`.
    ///
    /// No tickets: each probe of the draft is to be a full handshake, and a ticket is 500 bytes in the path's queue.
    pub fn config(&self, protocols: &[&[u8]]) -> Result<ServerConfig, ServeError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())?;
        config.alpn_protocols = protocols.iter().map(|p| p.to_vec()).collect();
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

fn make(names: &[String], addresses: &[IpAddr]) -> Result<Identity, ServeError> {
    let hosts = ["localhost".to_owned()].into_iter();
    let hosts = hosts.chain(names.iter().cloned());
    let hosts = hosts.chain(addresses.iter().map(IpAddr::to_string));
    let made = rcgen::generate_simple_self_signed(hosts.collect::<Vec<_>>())?;
    Ok(Identity {
        chain: vec![made.cert.der().clone()],
        key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
    })
}

fn read(chain: &[u8], key: &[u8]) -> Result<Identity, ServeError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let chain = chain.map_err(ServeError::Pem)?;
    if chain.is_empty() {
        return Err(ServeError::NoCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(ServeError::Pem)?;
    Ok(Identity { chain, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_certificate_serves_and_has_a_fingerprint_of_its_own() {
        let made = || Identity::of(&Certificate::Made { names: vec![] }, &[]).unwrap();
        let (one, other) = (made(), made());
        assert_eq!(one.fingerprint().len(), 64);
        assert_ne!(one.fingerprint(), other.fingerprint());
        assert_eq!(one.config(&[b"h2"]).unwrap().alpn_protocols, [b"h2"]);
    }

    #[test]
    fn files_that_hold_no_certificate_are_refused_in_words() {
        let given = Certificate::Given {
            chain: b"nothing".to_vec(),
            key: vec![],
        };
        let refused = Identity::of(&given, &[]).err().unwrap();
        assert!(matches!(refused, ServeError::NoCertificate));
    }
}
