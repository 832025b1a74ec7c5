//! Answers and their bodies.

use crate::account::Lines;
use crate::large::{BrokenOff, Large};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use std::pin::Pin;
use std::task::{Context, Poll};

pub enum Answer {
    Text(Option<Bytes>),
    Large(Box<Large>),
    Account(Box<Lines>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match &mut *self {
            Answer::Text(text) => Poll::Ready(text.take().map(|t| Ok(Frame::data(t)))),
            Answer::Large(large) => large.poll(context),
            Answer::Account(lines) => lines.poll(context).map(|line| line.map(Ok)),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Answer::Text(text) => text.is_none(),
            Answer::Large(large) => large.left() == 0,
            Answer::Account(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Answer::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, |t| t.len() as u64)),
            Answer::Large(large) => SizeHint::with_exact(large.left()),
            Answer::Account(_) => SizeHint::default(),
        }
    }
}

pub const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub const LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// Of a status and kind; nothing that we say may be kept or transformed on the way.
pub fn answer(status: StatusCode, kind: HeaderValue, body: Answer) -> Response<Answer> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, kind);
    let kept = HeaderValue::from_static("no-store, no-transform");
    headers.insert(CACHE_CONTROL, kept);
    response
}

/// What every answer tells browsers: take it for what it says it is, and let no other site have it or learn of it.
pub fn guard(headers: &mut HeaderMap) {
    let said = [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    for (name, value) in said {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

pub fn text(status: StatusCode, kind: HeaderValue, text: impl Into<Bytes>) -> Response<Answer> {
    answer(status, kind, Answer::Text(Some(text.into())))
}

pub fn json(status: StatusCode, value: &impl serde::Serialize) -> Response<Answer> {
    let line = serde_json::to_vec(value).expect("our own values have a JSON form");
    text(status, JSON, line)
}

/// Why a request was refused, for the log; never sent.
#[derive(Clone)]
pub struct Why(pub String);

/// One line that says why.
pub fn refusal(status: StatusCode, why: &str) -> Response<Answer> {
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    let mut response = text(status, kind, format!("{why}\n"));
    let passes = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::SERVICE_UNAVAILABLE,
    ];
    if passes.contains(&status) {
        let seconds = HeaderValue::from_static("10");
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
    response.extensions_mut().insert(Why(why.to_owned()));
    response
}

pub fn no_method(allowed: &'static str) -> Response<Answer> {
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
    let allowed = HeaderValue::from_static(allowed);
    response.headers_mut().insert(ALLOW, allowed);
    response
}
