//! Who the server is: a chain, a key, and what a client pins.

use crate::error::ServeError;
use crate::options::Certificate;
use pem::{EncodeConfig, LineEnding};
use rcgen::{CertificateParams, PKCS_ECDSA_P256_SHA256, PublicKeyData, SerialNumber, SigningKey};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::client::verify_server_name;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::net::IpAddr;
use std::path::Path;
use tracing::{info, warn};
use unbloat_os::files;

/// `addresses` go into a certificate that is made.
pub fn identity(
    certificate: &Certificate,
    addresses: &[IpAddr],
) -> Result<CertifiedKey, ServeError> {
    match certificate {
        Certificate::Made { names } => make(names, addresses)?.identity(),
        Certificate::Kept { file, names } => kept(file, names, addresses),
        Certificate::Given { chain, key } => read(chain, key),
    }
}

/// SHA-256 of the server's own certificate, in hexadecimal.
pub fn fingerprint(identity: &CertifiedKey) -> String {
    let digest = identity.cert.first().map(Sha256::digest);
    digest
        .iter()
        .flatten()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes all");
            text
        })
}

/// Chain and key in PEM, which belong together.
pub fn read(chain: &[u8], key: &[u8]) -> Result<CertifiedKey, ServeError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let chain = chain.map_err(ServeError::Pem)?;
    if chain.is_empty() {
        return Err(ServeError::NoCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(ServeError::Pem)?;
    let key = default_provider().key_provider.load_private_key(key)?;
    let found = CertifiedKey::new(chain, key);
    found.keys_match()?;
    Ok(found)
}

/// A certificate and its key, in PEM.
struct Pem {
    certificate: String,
    key: String,
}

impl Pem {
    fn identity(&self) -> Result<CertifiedKey, ServeError> {
        read(self.certificate.as_bytes(), self.key.as_bytes())
    }
}

fn make(names: &[String], addresses: &[IpAddr]) -> Result<Pem, ServeError> {
    let hosts = ["localhost".to_owned()].into_iter();
    let hosts = hosts.chain(names.iter().cloned());
    let hosts = hosts.chain(addresses.iter().map(IpAddr::to_string));
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random);
    let key = key.map_err(|_| rcgen::Error::RingUnspecified)?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random);
    let pair = pair.expect("it was made for this");
    let mut params = CertificateParams::new(hosts.collect::<Vec<_>>())?;
    let mut serial = Sha256::digest(pair.public_key())[..20].to_vec();
    // Positive (RFC 5280, 4.1.2.2).
    serial[0] &= 0x7f;
    params.serial_number = Some(SerialNumber::from(serial));
    let certificate = params.self_signed(&Key { pair, random })?;
    let pem = |tag, der: &[u8]| {
        let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
        pem::encode_config(&pem::Pem::new(tag, der), lines)
    };
    Ok(Pem {
        certificate: pem("CERTIFICATE", certificate.der()),
        key: pem("PRIVATE KEY", key.as_ref()),
    })
}

/// What signs the certificate that is made. rcgen's own key has parsers of certificates locked, which nobody uses.
struct Key {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

impl SigningKey for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signed = self.pair.sign(&self.random, message);
        let signed = signed.map_err(|_| rcgen::Error::RingUnspecified)?;
        Ok(signed.as_ref().to_vec())
    }
}

/// Of a certificate and its key.
const LONGEST: u64 = 1 << 20;

/// Clients remember the fingerprint, so it is to stay the same from start to start, as long as it has the wanted names.
/// A server that cannot write has a new one each time.
fn kept(file: &Path, names: &[String], addresses: &[IpAddr]) -> Result<CertifiedKey, ServeError> {
    match files::read_named(file, LONGEST) {
        Ok(pem) => {
            let found = read(&pem, &pem)?;
            if has_names(&found, names) {
                return Ok(found);
            }
            info!(file = %file.display(), "the certificate lacks a name and is made anew");
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(source) => {
            let file = file.to_owned();
            return Err(ServeError::Kept { file, source });
        }
    }
    let made = make(names, addresses)?;
    match write(file, &made) {
        Ok(()) => info!(file = %file.display(), "certificate written"),
        Err(why) => warn!(file = %file.display(), error = %why, "certificate not kept"),
    }
    made.identity()
}

fn has_names(identity: &CertifiedKey, names: &[String]) -> bool {
    let parsed = identity.end_entity_cert().map(ParsedCertificate::try_from);
    let Ok(Ok(parsed)) = parsed else {
        return false;
    };
    let has = |name: &String| {
        let name = ServerName::try_from(name.as_str());
        name.is_ok_and(|name| verify_server_name(&parsed, &name).is_ok())
    };
    names.iter().all(has)
}

/// Whole or not at all, and for nobody else to read.
fn write(file: &Path, made: &Pem) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut whole = tempfile::NamedTempFile::new_in(folder)?;
    whole.write_all(made.certificate.as_bytes())?;
    whole.write_all(made.key.as_bytes())?;
    whole.as_file().sync_all()?;
    whole.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_certificate_has_a_fingerprint_of_its_own() {
        let made = || identity(&Certificate::Made { names: vec![] }, &[]).unwrap();
        let (one, other) = (fingerprint(&made()), fingerprint(&made()));
        assert_eq!(one.len(), 64);
        assert_ne!(one, other);
    }

    #[test]
    fn a_kept_certificate_is_the_same_at_the_next_start_and_nobody_else_reads_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("unbloat/serve.pem");
        let start = |names: &[&str]| {
            let names = names.iter().map(ToString::to_string).collect();
            let file = file.clone();
            identity(&Certificate::Kept { file, names }, &[]).map(|found| fingerprint(&found))
        };
        let first = start(&[]).unwrap();
        assert_eq!(start(&[]).unwrap(), first);
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o077, 0);
        // Another name needs another certificate, once.
        let named = start(&["a.example", "10.0.0.1"]).unwrap();
        assert_ne!(named, first);
        assert_eq!(start(&["10.0.0.1"]).unwrap(), named);
        assert_eq!(start(&[]).unwrap(), named);
        // Damaged: an error, not another certificate.
        fs::write(&file, "-----BEGIN").unwrap();
        assert!(start(&[]).is_err());
        // A FIFO is not waited for.
        fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        assert!(start(&[]).is_err());
    }

    #[test]
    fn files_that_hold_no_certificate_or_another_key_are_refused_in_words() {
        let given = |chain: &str, key: &str| {
            let (chain, key) = (chain.into(), key.into());
            let refused = identity(&Certificate::Given { chain, key }, &[]);
            refused.unwrap_err()
        };
        assert!(matches!(given("nothing", ""), ServeError::NoCertificate));
        let made = || make(&[], &[]).unwrap();
        let other = given(&made().certificate, &made().key).to_string();
        assert!(other.contains("cannot be used"), "{other}");
    }
}
