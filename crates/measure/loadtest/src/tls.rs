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
use std::sync::{Arc, Mutex, PoisonError};

/// SHA-256 of a certificate in DER.
pub type Fingerprint = [u8; 32];

/// Without resumption: each handshake that is timed is a whole one.
pub fn config(trust: &Trust, alpn: &[&str]) -> Result<ClientConfig, TestError> {
    let provider = Arc::new(ring::default_provider());
    let chosen = |rule| {
        Arc::new(Chosen {
            rule,
            provider: provider.clone(),
        })
    };
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust { is_blind: true, .. } => chosen(Rule::Any),
        Trust { pin: Some(pin), .. } => chosen(Rule::One(*pin)),
        Trust { ca, .. } => authorities(ca.as_deref(), &provider)?,
    };
    Ok(with_verifier(verifier, provider, alpn))
}

/// Accepts any certificate, and writes down the fingerprint of one that no authority of this system vouches for.
pub fn recording(stranger: &Arc<Mutex<Option<Fingerprint>>>) -> Result<ClientConfig, TestError> {
    let provider = Arc::new(ring::default_provider());
    let rule = Rule::Recorded {
        // Without authorities, everybody is a stranger.
        authorities: authorities(None, &provider).ok(),
        stranger: Arc::clone(stranger),
    };
    let verifier = Arc::new(Chosen {
        rule,
        provider: provider.clone(),
    });
    Ok(with_verifier(verifier, provider, &["http/1.1"]))
}

fn authorities(
    ca: Option<&[u8]>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, TestError> {
    let roots = Arc::new(roots(ca)?);
    let built = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
    built.map_err(|_| TestError::NoAuthorities)
}

fn with_verifier(
    verifier: Arc<dyn ServerCertVerifier>,
    provider: Arc<CryptoProvider>,
    alpn: &[&str],
) -> ClientConfig {
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3");
    let mut config = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    config.resumption = Resumption::disabled();
    config
}

fn roots(ca: Option<&[u8]>) -> Result<RootCertStore, TestError> {
    let mut roots = RootCertStore::empty();
    match ca {
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(pem) => {
            let failed = |reason: String| TestError::Authorities { reason };
            for certificate in CertificateDer::pem_slice_iter(pem) {
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

/// Which certificates are believed.
#[derive(Debug)]
enum Rule {
    Any,
    One(Fingerprint),
    Recorded {
        authorities: Option<Arc<WebPkiServerVerifier>>,
        stranger: Arc<Mutex<Option<Fingerprint>>>,
    },
}

/// Believes by a rule. That the server has the key of what it shows is verified all the same.
#[derive(Debug)]
struct Chosen {
    rule: Rule,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Chosen {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let fingerprint: Fingerprint = Sha256::digest(shown.as_ref()).into();
        match &self.rule {
            Rule::Any => {}
            Rule::One(pin) if *pin == fingerprint => {}
            Rule::One(_) => return Err(CertificateError::ApplicationVerificationFailure.into()),
            Rule::Recorded {
                authorities,
                stranger,
            } => {
                let vouch = |all: &Arc<WebPkiServerVerifier>| {
                    let verified = all.verify_server_cert(shown, between, name, ocsp, now);
                    verified.is_ok()
                };
                let is_vouched = authorities.as_ref().is_some_and(vouch);
                let mut seen = stranger.lock().unwrap_or_else(PoisonError::into_inner);
                *seen = (!is_vouched).then_some(fingerprint);
            }
        }
        Ok(ServerCertVerified::assertion())
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
