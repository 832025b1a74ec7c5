//! The two halves of an HTTP/1 exchange, and its row.

use super::{Context, Flow, ms};
use crate::tables::{HttpRow, order};
use std::borrow::Cow;
use unbloat_dissect::{ByteRange, ContentClass, HttpRequest, HttpResponse, Text};
use unbloat_units::Time;

/// The text as it prints; what needs no escapes, as almost all, is copied as a whole.
pub(super) fn owned(text: Text<'_>) -> Box<str> {
    let is_plain = |&b: &u8| matches!(b, b' '..=b'~') && b != b'\\';
    match std::str::from_utf8(text.as_bytes()) {
        Ok(plain) if plain.as_bytes().iter().all(is_plain) => plain.into(),
        _ => text.to_string().into_boxed_str(),
    }
}

fn method(name: &str) -> Cow<'static, str> {
    const COMMON: [&str; 4] = ["GET", "POST", "HEAD", "PUT"];
    match COMMON.into_iter().find(|common| *common == name) {
        Some(common) => Cow::Borrowed(common),
        None => Cow::Owned(name.to_owned()),
    }
}

/// A request that awaits its response.
#[derive(Clone)]
pub(super) struct Request {
    time: Time,
    method: Cow<'static, str>,
    host: Option<Box<str>>,
    path: Option<Box<str>>,
    range: (Option<u64>, Option<u64>),
    /// Where the data towards the client ended when it passed.
    pub(super) down_end: u64,
}

impl Request {
    pub(super) fn new(head: &HttpRequest<'_>, time: Time, down_end: u64) -> Request {
        Request {
            time,
            method: method(head.method),
            host: head.host.map(owned),
            path: head.path.map(owned),
            range: (
                head.range.and_then(ByteRange::first),
                head.range.and_then(ByteRange::last),
            ),
            down_end,
        }
    }
}

/// A response that is passing.
#[derive(Clone)]
pub(super) struct Response {
    pub(super) request: Option<Request>,
    time: Time,
    /// The last packet that brought a part of it.
    pub(super) last: Time,
    status: u16,
    content_type: Option<Box<str>>,
    content_length: Option<u64>,
    range: Option<(u64, u64)>,
    body_begin: Option<u64>,
    /// Where the body ends, if the head says so.
    pub(super) body_end: Option<u64>,
}

impl Response {
    pub(super) fn new(
        head: &HttpResponse<'_>,
        request: Option<Request>,
        at: u64,
        time: Time,
    ) -> Response {
        let body_begin = head.head_len.map(|len| at + len as u64);
        let is_head = request.as_ref().is_some_and(|r| r.method == "HEAD");
        // RFC 9112 §6.3.
        let has_no_body = is_head || matches!(head.status, 100..200 | 204 | 304);
        let len = match (has_no_body, head.is_chunked) {
            (true, _) => Some(0),
            (false, Some(false)) => head.content_length,
            _ => None,
        };
        Response {
            request,
            time,
            last: time,
            status: head.status,
            content_type: head.content_type.map(owned),
            content_length: head.content_length,
            range: head.content_range.and_then(|r| r.span),
            body_begin,
            body_end: body_begin
                .zip(len)
                .map(|(begin, len)| begin.saturating_add(len)),
        }
    }

    /// Another response to the same request follows.
    pub(super) fn is_interim(&self) -> bool {
        matches!(self.status, 100 | 102..200)
    }

    fn body_bytes(&self, down_end: u64) -> Option<u64> {
        let end = self.body_end.map_or(down_end, |end| end.min(down_end));
        self.body_begin.map(|begin| end.saturating_sub(begin))
    }
}

/// Writes the exchange's row; what follows the response begins at `down_end`.
pub(super) fn write(
    request: Option<&Request>,
    response: Option<&Response>,
    down_end: u64,
    flow: &Flow<'_>,
    cx: &mut Context<'_>,
) {
    if cx.summary_only {
        return;
    }
    let origin = cx.origin;
    let asked = request.map(|r| r.time);
    let since = |time: Option<Time>| time.zip(asked).map(|(time, asked)| time.since(asked));
    let content_type = response.and_then(|r| r.content_type.as_deref());
    let class = ContentClass::of(content_type.unwrap_or_default().as_bytes());
    let sent = response.and_then(|r| r.range);
    let range = match request {
        Some(request) => request.range,
        None => (sent.map(|(first, _)| first), sent.map(|(_, last)| last)),
    };
    let row = HttpRow {
        flow_id: flow.core.flow_id,
        time_ns: asked.map(|time| time.since(origin).as_ns()),
        method: request.map(|r| r.method.as_ref()),
        host: request.and_then(|r| r.host.as_deref()),
        path: request.and_then(|r| r.path.as_deref()),
        status: response.map(|r| r.status),
        content_type,
        content_class: response.map(|_| class.name()),
        content_length: response.and_then(|r| r.content_length),
        range_first: range.0,
        range_last: range.1,
        first_byte_ms: ms(since(response.map(|r| r.time))),
        body_bytes: response.and_then(|r| r.body_bytes(down_end)),
        duration_ms: ms(since(response.map(|r| r.last))),
    };
    let order = order(cx.number, flow.core.flow_id);
    cx.tables.http.push(order, row);
}
