//! For tests of clients: servers that are not ours.

use crate::certificate::identity;
use crate::options::Certificate;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::sign::SingleCertAndKey;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// TLS 1.3 with a certificate of its own for `names`, and what clients pin.
pub fn tls(names: &[&str], alpn: &[&[u8]]) -> (ServerConfig, [u8; 32]) {
    let names = names.iter().map(ToString::to_string).collect();
    let identity = identity(&Certificate::Made { names }, &[]).unwrap();
    let pin = Sha256::digest(&identity.cert[0]).into();
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(identity)));
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    (config, pin)
}
