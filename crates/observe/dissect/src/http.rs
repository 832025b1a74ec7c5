//! Heads of HTTP/1.x requests and responses.
//!
//! # References
//! RFC 9110 (semantics), RFC 9112 (HTTP/1.1 on the wire), SIGCOMM'13 §7.1 (what is read of it).
//!
//! # Where we differ
//! | source | ours | why |
//! |---|---|---|
//! | RFC 9110 §8.6: a message with two different lengths is invalid | the first readable field of a name holds | the second may lie beyond the cut, and the answer must not depend on the cut |
//! | RFC 9112 §6.1: `chunked` must be the last coding | `chunked` anywhere | likewise |
//! | HTTP/0.9 has neither version nor head | not read | any line could be one |

use crate::http_head::{Field, Fields, decimal, line_len, without_parameters};
use crate::http_range::{ByteRange, ContentRange};
use crate::http_request_line::{RequestLine, minor_version};
use crate::text::Text;

/// The visible part of a request's head. A field that is `None` is absent if the head is
/// complete, else unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRequest<'a> {
    pub method: &'a str,
    /// Host and port if any: of an absolute target, else of the Host field (RFC 9112 §3.2.2).
    pub host: Option<Text<'a>>,
    /// Path and query; `None` if cut, and for CONNECT, which has no path.
    pub path: Option<Text<'a>>,
    /// 0 or 1, the digit after "HTTP/1."; `None` if cut.
    pub minor_version: Option<u8>,
    pub range: Option<ByteRange>,
    pub content_length: Option<u64>,
    pub is_chunked: Option<bool>,
    /// The connection ends after the answer (RFC 9112 §9.3).
    pub closes: Option<bool>,
    /// Bytes of the whole head with its empty line: where the body begins.
    pub head_len: Option<usize>,
}

/// The visible part of a response's head, `None` as in [`HttpRequest`].
///
/// What ends the body also depends on the request (RFC 9112 §6.3: none after HEAD, nor with
/// status 1xx, 204 and 304).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpResponse<'a> {
    pub minor_version: u8,
    pub status: u16,
    /// Media type without parameters, as sent; see [`crate::ContentClass::of`].
    pub content_type: Option<Text<'a>>,
    pub content_length: Option<u64>,
    pub content_range: Option<ContentRange>,
    pub is_chunked: Option<bool>,
    /// The connection ends after this response (RFC 9112 §9.3).
    pub closes: Option<bool>,
    /// Bytes of the whole head with its empty line: where the body begins.
    pub head_len: Option<usize>,
}

impl<'a> HttpRequest<'a> {
    /// Reads a head that begins at the first byte of `payload` and may be cut anywhere.
    ///
    /// A request line that is whole needs its version and any method; one that is cut counts as
    /// HTTP only if it has a method of RFC 9110 §9 or RFC 5789 and the beginning of a target.
    pub fn parse(payload: &'a [u8]) -> Option<HttpRequest<'a>> {
        let mut line = RequestLine::parse(payload)?;
        let mut fields = Fields::new(payload, line.len);
        let mut framing = Framing::default();
        let mut range = None;
        for field in fields.by_ref() {
            framing.read(&field);
            if field.is("host") && line.host.is_none() {
                line.host = field.text();
            } else if field.is("range") && range.is_none() {
                range = ByteRange::parse(field.value);
            }
        }
        let head_len = fields.head_len();
        Some(HttpRequest {
            method: line.method,
            host: line.host,
            path: line.path,
            minor_version: line.minor_version,
            range,
            content_length: framing.content_length,
            is_chunked: framing.is_chunked(head_len.is_some()),
            closes: framing.closes(line.minor_version, head_len.is_some()),
            head_len,
        })
    }

    /// Whether the end of the head is visible: what is `None` is then absent.
    pub fn is_complete(&self) -> bool {
        self.head_len.is_some()
    }
}

impl<'a> HttpResponse<'a> {
    /// Reads a head that begins at the first byte of `payload` and may be cut anywhere after the
    /// status code.
    pub fn parse(payload: &'a [u8]) -> Option<HttpResponse<'a>> {
        let (minor_version, status) = status_line(payload)?;
        let start = line_len(payload).unwrap_or(payload.len());
        let mut fields = Fields::new(payload, start);
        let mut framing = Framing::default();
        let (mut content_type, mut content_range) = (None, None);
        for field in fields.by_ref() {
            framing.read(&field);
            if field.is("content-type") && content_type.is_none() {
                let media_type = without_parameters(field.value);
                content_type = (!media_type.is_empty()).then_some(Text(media_type));
            } else if field.is("content-range") && content_range.is_none() {
                content_range = ContentRange::parse(field.value);
            }
        }
        let head_len = fields.head_len();
        Some(HttpResponse {
            minor_version,
            status,
            content_type,
            content_length: framing.content_length,
            content_range,
            is_chunked: framing.is_chunked(head_len.is_some()),
            closes: framing.closes(Some(minor_version), head_len.is_some()),
            head_len,
        })
    }

    /// Whether the end of the head is visible: what is `None` is then absent.
    pub fn is_complete(&self) -> bool {
        self.head_len.is_some()
    }
}

/// "HTTP/1.x 200": version and status, once the byte after the status is visible.
fn status_line(payload: &[u8]) -> Option<(u8, u16)> {
    let minor = minor_version(payload.get(..8)?)?;
    let status = decimal(payload.get(9..12)?)?;
    let delimited = payload[8] == b' ' && matches!(payload.get(12)?, b' ' | b'\r' | b'\n');
    (delimited && (100..1000).contains(&status)).then_some((minor, u16::try_from(status).ok()?))
}

/// The fields that say where a message and its connection end.
#[derive(Default)]
struct Framing {
    content_length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl Framing {
    fn read(&mut self, field: &Field<'_>) {
        if field.is("content-length") {
            self.content_length = self.content_length.or_else(|| field.number());
        } else if field.is("transfer-encoding") {
            self.chunked |= field.lists("chunked");
        } else if field.is("connection") {
            self.close |= field.lists("close");
            self.keep_alive |= field.lists("keep-alive");
        }
    }

    fn is_chunked(&self, complete: bool) -> Option<bool> {
        (self.chunked || complete).then_some(self.chunked)
    }

    /// HTTP/1.1 persists unless told, HTTP/1.0 only if told (RFC 9112 §9.3).
    fn closes(&self, minor_version: Option<u8>, complete: bool) -> Option<bool> {
        let by_default = minor_version == Some(0) && !self.keep_alive;
        (self.close || complete).then_some(self.close || by_default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REQUEST: &[u8] = b"GET /a/b.mp4?x=1 HTTP/1.1\r\nhost: www.example.com:8080\r\n\
        RANGE: bytes=1000-\r\nConnection: Keep-Alive, Close\r\n\r\n";
    const RESPONSE: &[u8] = b"HTTP/1.1 206 Partial Content\r\ncontent-TYPE: Video/MP4; q=\"a\"\r\n\
        Content-Length: 100\r\nContent-Range: bytes 1000-1099/5000\r\nX: y\r\n\r\nbody";
    const CHUNKED: &[u8] = b"HTTP/1.0 200\nTransfer-Encoding: gzip, chunked\nA: b\n c\n\n";

    #[test]
    fn a_request_shows_what_is_asked_of_whom() {
        let request = HttpRequest::parse(REQUEST).unwrap();
        assert_eq!(request.method, "GET");
        assert_eq!(request.host.unwrap(), "www.example.com:8080");
        assert_eq!(request.path.unwrap(), "/a/b.mp4?x=1");
        assert_eq!(request.range.unwrap().first(), Some(1000));
        assert_eq!(request.range.unwrap().last(), None);
        assert_eq!(
            (request.closes, request.is_chunked),
            (Some(true), Some(false))
        );
        assert_eq!(request.head_len, Some(REQUEST.len()));
    }

    #[test]
    fn a_response_shows_what_is_sent() {
        let response = HttpResponse::parse(RESPONSE).unwrap();
        assert_eq!((response.minor_version, response.status), (1, 206));
        assert_eq!(response.content_type.unwrap(), "Video/MP4");
        assert_eq!(response.content_length, Some(100));
        let range = response.content_range.unwrap();
        assert_eq!((range.span, range.total), (Some((1000, 1099)), Some(5000)));
        assert_eq!(
            (response.closes, response.is_chunked),
            (Some(false), Some(false))
        );
        assert_eq!(response.head_len, Some(RESPONSE.len() - 4));
    }

    #[test]
    fn version_1_0_closes_unless_told_to_keep_alive() {
        let parse = |head: &'static str| HttpResponse::parse(head.as_bytes()).unwrap().closes;
        assert_eq!(parse("HTTP/1.0 200 OK\r\n\r\n"), Some(true));
        assert_eq!(
            parse("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n"),
            Some(false)
        );
        assert_eq!(parse("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"), None);
        let chunked = HttpResponse::parse(CHUNKED).unwrap();
        assert_eq!(
            (chunked.is_chunked, chunked.closes),
            (Some(true), Some(true))
        );
    }

    #[test]
    fn the_host_of_an_absolute_target_wins_over_the_field() {
        let host = |head: &'static str| HttpRequest::parse(head.as_bytes()).unwrap().host.unwrap();
        let absolute = "GET http://a.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n";
        assert_eq!(host(absolute), "a.org");
        assert_eq!(host("OPTIONS * HTTP/1.1\r\nHost: b.org\r\n\r\n"), "b.org");
    }

    #[test]
    fn a_cut_request_line_shows_the_method_alone() {
        let request = HttpRequest::parse(b"POST /a/very/long").unwrap();
        assert_eq!(
            (request.method, request.path, request.host),
            ("POST", None, None)
        );
        assert!(!request.is_complete());
    }

    #[test]
    fn what_is_not_http_gives_nothing() {
        for other in [
            "",
            "GET",
            "GET ",
            "GET /\r\n",
            "get ready",
            "SSH-2.0-x\r\n",
            "OPTIONS sip:a SIP/2.0\r\n",
            "OPTIONS rtsp://a/ RTSP/1.0\r\n",
            "GET / HTTP/2.0\r\n",
            " / HTTP/1.1\r\n",
            "GET  HTTP/1.1\r\n",
            "\x16\x03\x01 / HTTP/1.1\r\n",
        ] {
            assert_eq!(HttpRequest::parse(other.as_bytes()), None, "{other:?}");
        }
        for other in [
            "HTTP/1.1 20",
            "HTTP/1.1 2000 OK\r\n",
            "HTTP/1.1 099 X\r\n",
            "HTTP/2 200 \r\n",
            "ICY 200 OK\r\n",
        ] {
            assert_eq!(HttpResponse::parse(other.as_bytes()), None, "{other:?}");
        }
    }

    fn same_or_unknown<T: PartialEq>(seen: Option<T>, truth: Option<T>) -> bool {
        seen.is_none() || seen == truth
    }

    #[test]
    fn every_cut_of_a_request_gives_the_same_value_or_none() {
        let truth = HttpRequest::parse(REQUEST).unwrap();
        for cut in 0..REQUEST.len() {
            let Some(seen) = HttpRequest::parse(&REQUEST[..cut]) else {
                assert!(cut < 5, "{cut}");
                continue;
            };
            assert_eq!(seen.method, truth.method);
            assert!(same_or_unknown(seen.host, truth.host), "{cut}");
            assert!(same_or_unknown(seen.path, truth.path), "{cut}");
            assert!(same_or_unknown(seen.range, truth.range), "{cut}");
            assert!(same_or_unknown(seen.closes, truth.closes), "{cut}");
            assert!(same_or_unknown(seen.is_chunked, truth.is_chunked), "{cut}");
            assert_eq!(seen.head_len, None);
        }
    }

    #[test]
    fn every_cut_of_a_response_gives_the_same_value_or_none() {
        for whole in [RESPONSE, CHUNKED] {
            let truth = HttpResponse::parse(whole).unwrap();
            for cut in 0..whole.len() {
                let Some(seen) = HttpResponse::parse(&whole[..cut]) else {
                    assert!(cut < 13, "{cut}");
                    continue;
                };
                assert_eq!(
                    (seen.status, seen.minor_version),
                    (truth.status, truth.minor_version)
                );
                assert!(
                    same_or_unknown(seen.content_type, truth.content_type),
                    "{cut}"
                );
                assert!(
                    same_or_unknown(seen.content_length, truth.content_length),
                    "{cut}"
                );
                assert!(
                    same_or_unknown(seen.content_range, truth.content_range),
                    "{cut}"
                );
                assert!(same_or_unknown(seen.is_chunked, truth.is_chunked), "{cut}");
                assert!(same_or_unknown(seen.closes, truth.closes), "{cut}");
                assert!(same_or_unknown(seen.head_len, truth.head_len), "{cut}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_behind_a_start_line_stay_within_the_payload(
            start in prop_oneof![
                Just("GET / HTTP/1.1\r\n"), Just("HTTP/1.1 200 OK\r\n"), Just("GET "), Just("")
            ],
            tail in prop::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), Just(b':'), any::<u8>()], 0..200),
        ) {
            let bytes = [start.as_bytes(), &tail].concat();
            let request = HttpRequest::parse(&bytes).and_then(|r| r.head_len);
            let response = HttpResponse::parse(&bytes).and_then(|r| r.head_len);
            prop_assert!(request.is_none_or(|n| n <= bytes.len()));
            prop_assert!(response.is_none_or(|n| n <= bytes.len()));
        }
    }
}
