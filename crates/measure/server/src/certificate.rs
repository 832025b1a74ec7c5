//! Who the server is: a chain, a key, and what a client pins.

use crate::error::ServeError;
use crate::options::Certificate;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use tracing::{info, warn};

pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// `addresses` go into a certificate that is made.
    pub fn of(certificate: &Certificate, addresses: &[IpAddr]) -> Result<Identity, ServeError> {
        match certificate {
            Certificate::Made { names } => make(names, addresses)?.identity(),
            Certificate::Kept { file } => kept(file, addresses),
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

/// A certificate and its key, in PEM.
struct Pem {
    certificate: String,
    key: String,
}

impl Pem {
    fn identity(&self) -> Result<Identity, ServeError> {
        read(self.certificate.as_bytes(), self.key.as_bytes())
    }
}

fn make(names: &[String], addresses: &[IpAddr]) -> Result<Pem, ServeError> {
    let hosts = ["localhost".to_owned()].into_iter();
    let hosts = hosts.chain(names.iter().cloned());
    let hosts = hosts.chain(addresses.iter().map(IpAddr::to_string));
    let made = rcgen::generate_simple_self_signed(hosts.collect::<Vec<_>>())?;
    Ok(Pem {
        certificate: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    })
}

/// Clients remember the fingerprint, so it is to stay the same from start to start. A server that cannot write has a new one each time.
fn kept(file: &Path, addresses: &[IpAddr]) -> Result<Identity, ServeError> {
    let failed = |source| ServeError::Kept {
        file: file.to_owned(),
        source,
    };
    match fs::read(file) {
        Ok(pem) => read(&pem, &pem),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let made = make(&[], addresses)?;
            match write(file, &made) {
                Ok(()) => info!(file = %file.display(), "certificate written"),
                Err(why) => warn!(file = %file.display(), error = %why, "certificate not kept"),
            }
            made.identity()
        }
        Err(error) => Err(failed(error)),
    }
}

/// Whole or not at all, and for nobody else to read.
fn write(file: &Path, made: &Pem) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut whole = tempfile::NamedTempFile::new_in(folder)?;
    whole.write_all(made.certificate.as_bytes())?;
    whole.write_all(made.key.as_bytes())?;
    whole.as_file().sync_all()?;
    whole.persist_noclobber(file)?;
    Ok(())
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
    fn a_kept_certificate_is_the_same_at_the_next_start_and_nobody_else_reads_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("unbloat/serve.pem");
        let start = || Identity::of(&Certificate::Kept { file: file.clone() }, &[]);
        let first = start().unwrap().fingerprint();
        assert_eq!(start().unwrap().fingerprint(), first);
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o077, 0);
        // Damaged: an error, not another certificate.
        fs::write(&file, "-----BEGIN").unwrap();
        assert!(start().is_err());
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
