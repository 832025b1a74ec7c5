//! A large file of any server of HTTP: downloads alone.
//!
//! # References
//! RFC 9110: `Content-Length` (8.6) says how large it is, HEAD (9.3.2) is answered without it.

use super::BOUND;
use crate::options::Options;
use crate::service::Service;
use crate::target::Origin;
use hyper::Method;
use unbloat_units::Bytes;

/// Most of a shorter one passes before a queue is full.
const LEAST: Bytes = Bytes::new(10_000_000);

impl Service {
    /// By how long the file is.
    pub(crate) fn file(length: u64, origin: &Origin, options: &Options) -> Result<Service, String> {
        let length = Bytes::new(length);
        if length < LEAST {
            return Err(format!(
                "it is a file of {length}, which is too short to load a line: use one of at least {LEAST}"
            ));
        }
        Ok(Service {
            small: origin.path.clone(),
            small_method: Method::HEAD,
            large: origin.path.clone(),
            object: Some(length.as_u64()),
            bound: Some(BOUND),
            ..Service::of_paths(origin.port, options)
        })
    }
}
