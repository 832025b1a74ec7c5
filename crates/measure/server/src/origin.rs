//! Whose page a request is of.
//!
//! A browser sends requests for any page that it shows, also to servers in its own network that the page's maker cannot reach. It says
//! so: by `Sec-Fetch-Site` (Fetch Metadata), and by `Origin` of WebSockets and POST requests (RFC 6454). Clients that are no browsers say nothing.

use crate::host;
use hyper::Uri;
use hyper::header::{ORIGIN, REFERER};
use hyper::http::request::Parts;

/// Whether the request is of no page at all, or of one of this server's.
pub fn is_own(parts: &Parts) -> bool {
    let of = |name: &str| {
        let value = parts.headers.get(name)?;
        Some(value.to_str().unwrap_or("?"))
    };
    match (of("sec-fetch-site"), of(ORIGIN.as_str())) {
        (Some("same-origin" | "none"), _) => true,
        (Some(_), _) => false,
        // Without TLS a browser says neither with an image.
        (None, None) => of(REFERER.as_str()).is_none_or(|page| is_same(page, parts)),
        (None, Some(origin)) => is_same(origin, parts),
    }
}

fn is_same(origin: &str, parts: &Parts) -> bool {
    let Ok(origin) = origin.parse::<Uri>() else {
        return false;
    };
    let named = origin.authority().filter(|_| origin.scheme().is_some());
    named.is_some() && named == host::asked(parts).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn told(pairs: &[(&str, &str)]) -> bool {
        let begun = Request::builder().uri("/upload").header("host", "box:4043");
        let request = pairs.iter().fold(begun, |request, (name, value)| {
            request.header(*name, *value)
        });
        is_own(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn only_pages_of_other_sites_are_refused() {
        assert!(told(&[]));
        assert!(told(&[("sec-fetch-site", "same-origin")]));
        assert!(told(&[("sec-fetch-site", "none")]));
        assert!(!told(&[("sec-fetch-site", "cross-site")]));
        assert!(!told(&[("sec-fetch-site", "same-site")]));
        assert!(told(&[("referer", "http://box:4043/?glance")]));
        assert!(!told(&[("referer", "http://evil.example/page")]));
        assert!(told(&[("origin", "https://box:4043")]));
        assert!(told(&[("origin", "https://BOX:4043")]));
        for other in ["https://evil.example", "https://box", "null", "box:4043"] {
            assert!(!told(&[("origin", other)]), "{other}");
        }
    }
}
