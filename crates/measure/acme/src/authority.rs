//! The way to the authority: over TLS, to the named host and no other, with bounded answers.

use crate::error::{AcmeError, chain};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::http::uri::{Authority, Scheme};
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tracing::debug;

/// A chain of certificates is a tenth of it.
const LONGEST_ANSWER: usize = 256 << 10;
/// For one request.
const PATIENCE: Duration = Duration::from_secs(30);

type Https = Client<HttpsConnector<HttpConnector>, BodyWrapper<Bytes>>;

/// A client of one authority.
pub struct OneHost {
    client: Https,
    host: Authority,
}

impl OneHost {
    /// Of the host of this directory, which any authority of the system may vouch for.
    pub fn of(directory: &str) -> Result<OneHost, AcmeError> {
        let host = host(directory)?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(AcmeError::NoRoots);
        }
        let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions of the provider")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let https = HttpsConnectorBuilder::new().with_tls_config(tls);
        let https = https.https_only().enable_http1().build();
        let client = Client::builder(TokioExecutor::new()).build(https);
        Ok(OneHost { client, host })
    }
}

/// Host and port of a directory.
pub fn host(directory: &str) -> Result<Authority, AcmeError> {
    let uri = directory.parse::<Uri>().ok();
    let uri = uri.filter(|uri| uri.scheme() == Some(&Scheme::HTTPS));
    let host = uri.and_then(|uri| uri.authority().cloned());
    let host = host.filter(|host| !host.as_str().contains('@'));
    host.ok_or_else(|| AcmeError::Directory(directory.to_owned()))
}

impl HttpClient for OneHost {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let uri = request.uri().clone();
        debug!(%uri, "asking the authority");
        if uri.authority() != Some(&self.host) {
            let why = format!("the authority's directory names another host: {uri}");
            return Box::pin(async move { Err(Error::Other(why.into())) });
        }
        let answer = self.client.request(request);
        let host = self.host.clone();
        Box::pin(async move {
            let whole = async {
                let (parts, body) = answer
                    .await
                    .map_err(|error| unreachable(&host, &error))?
                    .into_parts();
                let body = Limited::new(body, LONGEST_ANSWER).collect().await;
                let body = body.map_err(Error::Other)?.to_bytes();
                Ok(BytesResponse::from(Response::from_parts(
                    parts,
                    Full::new(body),
                )))
            };
            let slow = || Error::Other(format!("{uri}: no answer in time").into());
            timeout(PATIENCE, whole)
                .await
                .unwrap_or_else(|_| Err(slow()))
        })
    }
}

fn unreachable(host: &Authority, error: &hyper_util::client::legacy::Error) -> Error {
    Error::Other(format!("cannot reach {host}: {}", chain(error)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_asked_over_tls_only() {
        assert_eq!(
            host("https://a.example:14000/dir").unwrap(),
            "a.example:14000"
        );
        for odd in [
            "http://a.example/dir",
            "a.example",
            "https://u:p@a.example/dir",
            "",
        ] {
            assert!(matches!(host(odd), Err(AcmeError::Directory(_))), "{odd}");
        }
    }

    #[test]
    fn no_other_host_is_asked() {
        let one = OneHost::of("https://a.example/dir").unwrap();
        for url in ["https://b.example/dir", "https://a.example:1/dir", "/dir"] {
            let request = Request::builder().uri(url).body(BodyWrapper::default());
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let asked = runtime.unwrap().block_on(one.request(request.unwrap()));
            let refused = asked.err().unwrap().to_string();
            assert!(refused.contains("another host"), "{refused}");
        }
    }
}
