//! Cloudflare's speed test.
//!
//! # References
//! `@cloudflare/speedtest` 1.14 (npm), Cloudflare's own client: `GET /__down?bytes=N` answers with N bytes, at most 250 MB there; `POST /__up` takes a body, at most
//! 50 MB there; round trips are those of `__down?bytes=0`; 429 means too many requests.

use super::{BOUND, Public};
use crate::options::Options;
use crate::service::Service;
use crate::target::{Origin, Target};
use hyper::Method;

pub(super) const PUBLIC: Public = Public {
    name: "cloudflare",
    host: "speed.cloudflare.com",
    policy: "https://www.cloudflare.com/privacypolicy/",
    publishes: false,
    target: |host| {
        Target::Cloudflare(Origin {
            host: host.to_owned(),
            port: 443,
            is_tls: true,
            path: PATH.to_owned(),
        })
    },
};

/// An answer without data.
const PATH: &str = "/__down?bytes=0";
/// Of one request, each way: a size of that client.
const PIECE: u64 = 25_000_000;

impl Service {
    /// By the answer to [`PATH`].
    pub(crate) fn cloudflare(
        answer: &[u8],
        origin: &Origin,
        options: &Options,
    ) -> Result<Service, String> {
        if !answer.is_empty() {
            return Err(match answer.trim_ascii_start() {
                [b'<', ..] => Service::LOGIN.to_owned(),
                _ => format!(
                    "it answered {} bytes where none were asked for",
                    answer.len()
                ),
            });
        }
        Ok(Service {
            small: PATH.to_owned(),
            small_method: Method::GET,
            large: format!("/__down?bytes={PIECE}"),
            upload: "/__up".to_owned(),
            object: Some(PIECE),
            piece: Some(PIECE),
            bound: Some(BOUND),
            ..Service::of_paths(origin.port, options)
        })
    }
}
