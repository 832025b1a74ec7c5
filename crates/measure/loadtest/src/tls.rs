//! Whose certificates are believed, as a configuration of rustls.

use crate::error::TestError;
use crate::options::Trust;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

/// Without resumption: each handshake that is timed is a whole one.
pub fn config(trust: &Trust, alpn: &[&str]) -> Result<ClientConfig, TestError> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust { is_blind: true, .. } => Arc::new(Chosen::new(None, provider.clone())),
        Trust { pin: Some(pin), .. } => Arc::new(Chosen::new(Some(*pin), provider.clone())),
        Trust { ca, .. } => {
            let roots = Arc::new(roots(ca.as_deref())?);
            let built =
                WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
            built.map_err(|_| TestError::NoAuthorities)?
        }
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3");
    let mut config = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, TestError> {
    let mut roots = RootCertStore::empty();
    match ca {
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(path) => {
            let failed = |reason: String| TestError::Authorities {
                path: path.to_owned(),
                reason,
            };
            let found = CertificateDer::pem_file_iter(path).map_err(|e| failed(e.to_string()))?;
            for certificate in found {
                let certificate = certificate.map_err(|e| failed(e.to_string()))?;
                roots.add(certificate).map_err(|e| failed(e.to_string()))?;
            }
        }
    }
    match roots.is_empty() {
        true => Err(TestError::NoAuthorities),
        false => Ok(roots),
    }
}

/// Believes one certificate, or any. That the server has the key of what it shows is verified all the same.
#[derive(Debug)]
struct Chosen {
    pin: Option<[u8; 32]>,
    provider: Arc<CryptoProvider>,
}

impl Chosen {
    fn new(pin: Option<[u8; 32]>, provider: Arc<CryptoProvider>) -> Chosen {
        Chosen { pin, provider }
    }
}

impl ServerCertVerifier for Chosen {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let is_it = |pin: &[u8; 32]| Sha256::digest(shown.as_ref()).as_slice() == pin;
        match self.pin.as_ref().is_none_or(is_it) {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            cert,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
