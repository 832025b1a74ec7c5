//! The verdict on a run of the web page, from what the page measured.

use crate::answer::{Answer, json, refusal};
use bytes::{Buf, Bytes};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::{Response, StatusCode};
use std::pin::pin;
use std::time::Instant;
use tokio::time::timeout_at;
use unbloat_responsiveness::{PageRun, judge_page};

/// A run of the page has some 100 kB.
const LONGEST: usize = 1 << 19;

pub async fn judged<B: Body<Data = Bytes>>(body: B, until: Instant) -> Response<Answer> {
    let Some(text) = read(body, until).await else {
        let why = "the results of a page are limited to 512 KiB, in one request";
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, why);
    };
    match serde_json::from_slice::<PageRun>(&text) {
        Ok(run) => json(StatusCode::OK, &judge_page(&run)),
        Err(error) => refusal(
            StatusCode::BAD_REQUEST,
            &format!("these are not the results of a page: {error}"),
        ),
    }
}

async fn read<B: Body<Data = Bytes>>(body: B, until: Instant) -> Option<Vec<u8>> {
    let mut body = pin!(body);
    let mut text = Vec::new();
    while let Some(frame) = timeout_at(until.into(), body.as_mut().frame()).await.ok()? {
        if let Ok(data) = frame.ok()?.into_data() {
            if text.len() + data.remaining() > LONGEST {
                return None;
            }
            text.extend_from_slice(&data);
        }
    }
    Some(text)
}
