//! Under which name the server was asked: its answers name the same one.

use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::http::uri::Authority;

/// Host and port of the request, by the request's target (HTTP/2, HTTP/3) or its `Host`. None if it has none or one
/// that is no host.
pub fn asked(parts: &Parts) -> Option<Authority> {
    let named = parts.uri.authority().cloned();
    let authority = named.or_else(|| {
        let host = parts.headers.get(HOST)?.to_str().ok()?;
        host.parse::<Authority>().ok()
    })?;
    // Names of users have no place in addresses that we hand out, nor quotes in JSON.
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]%".contains(&b);
    authority.as_str().bytes().all(plain).then_some(authority)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn of(uri: &str, host: Option<&str>) -> Option<String> {
        let mut request = Request::builder().uri(uri);
        if let Some(host) = host {
            request = request.header(HOST, host);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        asked(&parts).map(|authority| authority.to_string())
    }

    #[test]
    fn the_name_is_that_of_target_or_header() {
        assert_eq!(of("https://a.example:1/x", None).unwrap(), "a.example:1");
        assert_eq!(of("/x", Some("[::1]:4043")).unwrap(), "[::1]:4043");
        assert_eq!(of("/x", None), None);
        assert_eq!(of("/x", Some("a b")), None);
        assert_eq!(of("/x", Some("user@host")), None);
    }
}
