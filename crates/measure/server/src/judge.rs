//! The verdict on a run of the web page, from what the page measured.

use crate::admission::{Admission, Full};
use crate::answer::{Answer, json, refusal};
use bytes::{Buf, Bytes};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::{Response, StatusCode};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout_at};
use unbloat_os::heap;
use unbloat_responsiveness::{PageRun, judge_page};

/// A run of the page has some 100 kB.
const LONGEST: usize = 1 << 19;

/// Verdicts in [`SPELL`]: of all, and of one address.
const MOST: usize = 256;
const MOST_EACH: usize = 16;
const SPELL: Duration = Duration::from_secs(60);

/// Judges runs of the page, one at a time and beside the threads that serve: others measure meanwhile.
pub struct Judge {
    /// Of those judged within a [`SPELL`].
    recent: Arc<Admission>,
    one: Semaphore,
}

impl Judge {
    pub fn new() -> Judge {
        Judge {
            recent: Admission::new(MOST, MOST_EACH),
            one: Semaphore::new(1),
        }
    }

    /// A leave to have one run judged.
    pub fn admit(&self, address: IpAddr) -> Result<(), Full> {
        let place = self.recent.admit(address)?;
        tokio::spawn(async move {
            sleep(SPELL).await;
            drop(place);
        });
        Ok(())
    }

    pub async fn judged<B: Body<Data = Bytes>>(&self, body: B, until: Instant) -> Response<Answer> {
        let Some(text) = read(body, until).await else {
            let why = "the results of a page are limited to 512 KiB, in one request";
            return refusal(StatusCode::PAYLOAD_TOO_LARGE, why);
        };
        let judge = move || {
            let answer = answer(text);
            // This thread has nothing else to do, and would keep what the run took.
            heap::give_back();
            answer
        };
        let _alone = self.one.acquire().await;
        let judged = spawn_blocking(judge).await;
        judged.unwrap_or_else(|_| {
            let why = "these results cannot be judged";
            refusal(StatusCode::INTERNAL_SERVER_ERROR, why)
        })
    }
}

fn answer(text: Vec<u8>) -> Response<Answer> {
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
    // Taken once, and resident as far as it is filled: one that grows leaves the allocator with blocks of every size that it had.
    let mut text = Vec::with_capacity(LONGEST);
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
