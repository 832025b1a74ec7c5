//! Uploads: counted and thrown away.

use crate::answer::{Answer, json, refusal};
use crate::counters::count;
use crate::peer::Peer;
use crate::session::Transfer;
use crate::shared::Shared;
use bytes::{Buf, Bytes};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::{Response, StatusCode};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::{sleep_until, timeout_at};

#[derive(serde::Serialize)]
struct Received {
    received_bytes: u64,
}

/// Reads until the end, or as much and as long as the limits allow.
pub async fn upload<B: Body<Data = Bytes>>(
    shared: &Shared,
    peer: &Arc<Peer>,
    transfer: Option<Transfer>,
    body: B,
) -> Response<Answer> {
    let until = shared.transfer_end(Instant::now());
    let _busy = peer.begin(until);
    let mut body = pin!(body);
    let mut received_bytes = 0;
    let most = shared.limits.transfer_bytes.as_u64();
    while received_bytes < most && !transfer.as_ref().is_some_and(Transfer::is_unwanted) {
        let data = match timeout_at(until.into(), body.as_mut().frame()).await {
            Err(_) | Ok(None) => break,
            Ok(Some(Ok(frame))) => frame.into_data().map_or(0, |data| data.remaining()),
            Ok(Some(Err(_))) => {
                return refusal(StatusCode::BAD_REQUEST, "the upload was interrupted");
            }
        };
        received_bytes += data as u64;
        count(&shared.counters.up_bytes, data as u64);
        if let Some(transfer) = &transfer {
            transfer.count(data as u64);
        }
        if let Some(next) = shared.up.take(data, Instant::now()) {
            sleep_until(next.into()).await;
        }
    }
    json(StatusCode::OK, &Received { received_bytes })
}
