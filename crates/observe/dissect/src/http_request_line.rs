//! The first line of an HTTP/1 request and the four forms of its target (RFC 9112 §3).

use crate::http_head::{is_token_byte, line_len};
use crate::text::Text;

/// The digit after "HTTP/1.".
pub(crate) fn minor_version(version: &[u8]) -> Option<u8> {
    match version.strip_prefix(b"HTTP/1.")? {
        [digit @ (b'0' | b'1')] => Some(digit - b'0'),
        _ => None,
    }
}

/// A request line, whole or cut.
#[derive(Debug)]
pub(crate) struct RequestLine<'a> {
    pub(crate) method: &'a str,
    pub(crate) host: Option<Text<'a>>,
    pub(crate) path: Option<Text<'a>>,
    pub(crate) minor_version: Option<u8>,
    /// Bytes of the line with its end; all that is visible if it is cut.
    pub(crate) len: usize,
}

impl<'a> RequestLine<'a> {
    /// Longer than any registered method; bounds the search in payloads that are not HTTP.
    const METHOD_MAX: usize = 24;

    pub(crate) fn parse(payload: &'a [u8]) -> Option<RequestLine<'a>> {
        let end = payload
            .iter()
            .take(Self::METHOD_MAX + 1)
            .position(|&b| !is_token_byte(b))?;
        let method = std::str::from_utf8(&payload[..end]).ok()?;
        if method.is_empty() || payload[end] != b' ' {
            return None;
        }
        let rest = &payload[end + 1..];
        match line_len(rest) {
            Some(len) => RequestLine::whole(method, rest[..len].trim_ascii_end(), end + 1 + len),
            None => RequestLine::cut(method, rest, payload.len()),
        }
    }

    fn whole(method: &'a str, rest: &'a [u8], len: usize) -> Option<RequestLine<'a>> {
        let space = rest.iter().rposition(|&b| b == b' ')?;
        let minor_version = Some(minor_version(&rest[space + 1..])?);
        let target = rest[..space].trim_ascii();
        let (host, path) = split_target(method, target);
        (!target.is_empty()).then_some(RequestLine {
            method,
            host,
            path,
            minor_version,
            len,
        })
    }

    fn cut(method: &'a str, rest: &'a [u8], len: usize) -> Option<RequestLine<'a>> {
        const METHODS: [&str; 9] = [
            "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
        ];
        let targeted =
            method == "CONNECT" || authority_form(rest).is_some() || rest.first() == Some(&b'/');
        (METHODS.contains(&method) && targeted).then_some(RequestLine {
            method,
            host: None,
            path: None,
            minor_version: None,
            len,
        })
    }
}

/// What follows "http://" or "https://" of an absolute target.
fn authority_form(target: &[u8]) -> Option<&[u8]> {
    [b"http://".as_slice(), b"https://"]
        .iter()
        .find_map(|scheme| {
            let (start, rest) = target.split_at_checked(scheme.len())?;
            start.eq_ignore_ascii_case(scheme).then_some(rest)
        })
}

/// Host and path of the four forms of a target (RFC 9112 §3.2).
fn split_target<'a>(method: &str, target: &'a [u8]) -> (Option<Text<'a>>, Option<Text<'a>>) {
    if method == "CONNECT" {
        return (Some(Text(target)), None);
    }
    let Some(rest) = authority_form(target) else {
        return (None, Some(Text(target)));
    };
    let slash = rest.iter().position(|&b| matches!(b, b'/' | b'?'));
    let (authority, path) = rest.split_at(slash.unwrap_or(rest.len()));
    // User information is no part of the host (RFC 3986 §3.2.1).
    let host = authority.rsplit(|&b| b == b'@').next().unwrap_or(authority);
    let path = if path.is_empty() { b"/" } else { path };
    ((!host.is_empty()).then_some(Text(host)), Some(Text(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> (String, String) {
        let line = RequestLine::parse(line.as_bytes()).unwrap();
        let text = |t: Option<Text<'_>>| t.map(|t| t.to_string()).unwrap_or_default();
        (text(line.host), text(line.path))
    }

    #[test]
    fn the_four_forms_of_a_target_split_into_host_and_path() {
        let pair = |host: &str, path: &str| (host.to_owned(), path.to_owned());
        assert_eq!(split("GET /?a HTTP/1.1\r\n"), pair("", "/?a"));
        assert_eq!(
            split("GET HTTP://u@a.org:81/x?y HTTP/1.1\r\n"),
            pair("a.org:81", "/x?y")
        );
        assert_eq!(split("GET https://a.org HTTP/1.1\r\n"), pair("a.org", "/"));
        assert_eq!(
            split("CONNECT a.org:443 HTTP/1.1\r\n"),
            pair("a.org:443", "")
        );
        assert_eq!(split("OPTIONS * HTTP/1.1\r\n"), pair("", "*"));
    }

    #[test]
    fn any_method_goes_with_a_version_and_only_known_ones_with_a_cut_line() {
        let method = |line: &'static str| RequestLine::parse(line.as_bytes()).map(|l| l.method);
        assert_eq!(method("M-SEARCH * HTTP/1.1\r\n"), Some("M-SEARCH"));
        assert_eq!(method("M-SEARCH /a"), None);
        assert_eq!(method("PUT /a"), Some("PUT"));
        assert_eq!(method("PUT a"), None);
    }
}
