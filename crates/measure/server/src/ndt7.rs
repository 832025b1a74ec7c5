//! ndt7: one connection, one way, ten seconds.
//!
//! # References
//! ndt7 v0.11.0 (m-lab/ndt-server, `spec/ndt7-protocol.md`).
//!
//! # Where we differ
//!
//! | spec | here | why |
//! |---|---|---|
//! | a locate service names the server | `GET /ndt7` names this one, in the form of both versions of that service | there is no other |
//! | BBR where available | the same, and the kernel's default where it is not | |

use crate::counters::count;
use crate::large::noise;
use crate::peer::Peer;
use crate::shared::Shared;
use crate::socket::ThinStream;
use crate::thin::Load;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::timeout_at;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use unbloat_units::Delta;

pub const PROTOCOL: &str = "net.measurementlab.ndt.v7";

/// Of a message that is no load: measurements of clients.
pub const LONGEST: usize = 1 << 16;

const LASTS: Duration = Duration::from_secs(10);

/// A test has to have ended by then.
pub const HARD_END: Duration = Duration::from_secs(13);

const MEASURES: Duration = Duration::from_millis(250);

/// Within a message that takes longer, load is counted, and held to the rate, so often.
const COUNTS: Duration = Duration::from_millis(10);

/// Of messages downwards: they begin so short and double while they are less than a sixteenth of what was sent, up to
/// what M-Lab's server sends at most.
const FIRST: usize = 1 << 13;
const LAST: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Download,
    Upload,
}

pub async fn run(test: Test, shared: &Shared, peer: &Peer, (stream, load): (ThinStream, Load)) {
    let run = Run {
        test,
        shared,
        peer,
        began: Instant::now(),
        bytes: AtomicU64::new(0),
        connection: Connection::of(peer),
    };
    let (mut sink, source) = stream.split();
    let ended = match test {
        Test::Download => {
            // BBR as the spec asks; without it the kernel's own choice does.
            if shared.controls.allow("bbr") {
                let _ = peer.set_congestion_control("bbr");
            }
            tokio::select! {
                sent = run.send_load(&mut sink) => sent,
                () = run.listen(source) => return,
            }
        }
        Test::Upload => run.take_load(source, &load, &mut sink).await,
    };
    if ended.is_ok() {
        let frame = CloseFrame {
            code: CloseCode::Normal,
            reason: "".into(),
        };
        // A client that is gone needs no goodbye.
        let _ = sink.send(Message::Close(Some(frame))).await;
    }
}

type Sink = SplitSink<ThinStream, Message>;

struct Run<'a> {
    test: Test,
    shared: &'a Shared,
    peer: &'a Peer,
    began: Instant,
    bytes: AtomicU64,
    connection: Connection,
}

impl Run<'_> {
    async fn send_load(&self, sink: &mut Sink) -> Result<(), Error> {
        let mut length = FIRST;
        let mut next = self.began;
        while self.began.elapsed() < LASTS {
            if Instant::now() >= next {
                next += MEASURES;
                sink.send(self.measurement()).await?;
            }
            sink.send(Message::Binary(noise(length))).await?;
            count(&self.shared.counters.down_bytes, length as u64);
            let sent = self.bytes.fetch_add(length as u64, Ordering::Relaxed);
            if length < LAST && (length as u64) < sent / 16 {
                length *= 2;
            }
            if let Some(at) = self.shared.down.take(length, Instant::now()) {
                tokio::time::sleep_until(at.into()).await;
            }
        }
        sink.send(self.measurement()).await
    }

    /// Until the client ends it, or sends a load where there is to be none.
    async fn listen(&self, mut source: SplitStream<ThinStream>) {
        while let Some(Ok(Message::Text(_) | Message::Ping(_) | Message::Pong(_))) =
            source.next().await
        {}
    }

    async fn take_load(
        &self,
        mut source: SplitStream<ThinStream>,
        load: &Load,
        sink: &mut Sink,
    ) -> Result<(), Error> {
        let mut next = self.began;
        while self.began.elapsed() < LASTS {
            if Instant::now() >= next {
                next += MEASURES;
                sink.send(self.measurement()).await?;
            }
            let look = next.min(Instant::now() + COUNTS);
            let came = timeout_at(look.into(), source.next()).await;
            let length = load.take();
            count(&self.shared.counters.up_bytes, length);
            self.bytes.fetch_add(length, Ordering::Relaxed);
            match came {
                Ok(Some(Ok(Message::Close(_))) | None) => return Ok(()),
                Ok(Some(Err(error))) => return Err(error),
                Ok(Some(Ok(_))) | Err(_) => {}
            }
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if let Some(at) = self.shared.up.take(length, Instant::now()) {
                tokio::time::sleep_until(at.into()).await;
            }
        }
        sink.send(self.measurement()).await
    }

    fn measurement(&self) -> Message {
        let elapsed = self.began.elapsed().as_micros();
        let elapsed = i64::try_from(elapsed).unwrap_or(i64::MAX);
        let measurement = Measurement {
            app_info: AppInfo {
                elapsed_time: elapsed,
                num_bytes: self.bytes.load(Ordering::Relaxed),
            },
            connection_info: &self.connection,
            origin: "server",
            test: match self.test {
                Test::Download => "download",
                Test::Upload => "upload",
            },
            tcp_info: self.peer.info().map(|info| TcpInfo {
                busy_time: info.busy().as_us(),
                bytes_acked: info.acked().as_u64(),
                bytes_received: info.received().as_u64(),
                bytes_sent: info.sent().as_u64(),
                elapsed_time: elapsed,
                min_rtt: info.min_rtt().map_or(0, Delta::as_us),
                rtt: info.rtt().as_us(),
                rtt_var: info.rtt_variation().as_us(),
                rwnd_limited: info.window_limited().as_us(),
                snd_buf_limited: info.buffer_limited().as_us(),
            }),
        };
        let text = serde_json::to_string(&measurement).expect("our own values have a JSON form");
        Message::Text(text.into())
    }
}

/// Names and units are the spec's: microseconds and bytes.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Measurement<'a> {
    app_info: AppInfo,
    connection_info: &'a Connection,
    origin: &'static str,
    test: &'static str,
    #[serde(rename = "TCPInfo")]
    tcp_info: Option<TcpInfo>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct AppInfo {
    elapsed_time: i64,
    num_bytes: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Connection {
    client: String,
    server: String,
    #[serde(rename = "UUID")]
    uuid: String,
    start_time: String,
}

impl Connection {
    fn of(peer: &Peer) -> Connection {
        let mut random = [0; 8];
        getrandom::fill(&mut random).expect("Linux has random numbers");
        Connection {
            client: peer.from.to_string(),
            server: peer.to.map_or_else(String::new, |to| to.to_string()),
            uuid: format!("unbloat_{:016x}", u64::from_be_bytes(random)),
            start_time: jiff::Timestamp::now().to_string(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TcpInfo {
    busy_time: i64,
    bytes_acked: u64,
    bytes_received: u64,
    bytes_sent: u64,
    elapsed_time: i64,
    #[serde(rename = "MinRTT")]
    min_rtt: i64,
    #[serde(rename = "RTT")]
    rtt: i64,
    #[serde(rename = "RTTVar")]
    rtt_var: i64,
    #[serde(rename = "RWndLimited")]
    rwnd_limited: i64,
    snd_buf_limited: i64,
}
