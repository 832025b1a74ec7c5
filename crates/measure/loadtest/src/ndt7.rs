//! ndt7: one connection one way, measured by what the server says of itself among the data.
//!
//! # References
//! ndt7 v0.11.0 (m-lab/ndt-server, `spec/ndt7-protocol.md`).
//!
//! # Where we differ
//!
//! | spec | here | why |
//! |---|---|---|
//! | a locate service names the server | the user does, or types `mlab` | nobody else is asked |
//! | messages upwards grow with what was sent | 8 KiB | the path sees no difference, and time is told more finely |
//! | the test lasts as long as the server says, 10 s | ended by us a little before | an end that we choose is no failure |

use crate::flow::Flow;
use crate::http::{Dialer, Link};
use crate::measured::{Count, Counter, KernelSample, KernelState, Side};
use crate::service::Service;
use crate::socket::{PATIENCE, Settings};
use crate::upload::Allowance;
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use serde::Deserialize;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use unbloat_os::clock::Clock;
use unbloat_os::lock::lock;
use unbloat_stream_limits::{Hook, Layer};
use unbloat_units::{Bytes, Delta, Direction, Time};

const PROTOCOL: &str = "net.measurementlab.ndt.v7";
/// Servers end a test after ten seconds.
pub const LASTS: Delta = Delta::ms(9_500);
/// The longest message of the spec.
pub(crate) const LONGEST: usize = 1 << 24;
/// Of a measurement; they are less than a kilobyte.
const LONGEST_TEXT: usize = 16 * 1024;
/// Ten a second in ten seconds each way are 200.
pub(crate) const MOST_NOTES: usize = 2_000;
const PIECE: usize = 1 << 13;
/// Of pongs and pieces that the server does not read: a library's own bound is none.
const UNREAD: usize = 1 << 20;
/// Beyond, a count of segments is damage; and the size of one.
const MOST_SEGMENTS: i64 = 1 << 31;
const LARGEST_SEGMENT: i64 = 1 << 16;

/// What the server said of itself.
#[derive(Debug, Default)]
pub struct Notes {
    pub counts: Vec<Count>,
    pub kernel: Vec<KernelSample>,
    taken: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Measurement {
    app_info: Option<AppInfo>,
    #[serde(rename = "TCPInfo")]
    tcp_info: Option<TcpInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AppInfo {
    num_bytes: i64,
}

/// Microseconds and bytes; a server may leave out any.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct TcpInfo {
    #[serde(rename = "RTT")]
    rtt: i64,
    #[serde(rename = "MinRTT")]
    min_rtt: i64,
    bytes_acked: i64,
    bytes_received: i64,
    #[serde(rename = "SndMSS")]
    snd_mss: Option<i64>,
    unacked: i64,
    /// Of M-Lab's servers; the spec wants none of it.
    sacked: Option<i64>,
    lost: i64,
    retrans: i64,
    d_sack_dups: i64,
    busy_time: i64,
    #[serde(rename = "RWndLimited")]
    rwnd_limited: i64,
    snd_buf_limited: i64,
}

impl Notes {
    /// Takes what is a measurement; all else that a server may say is left out.
    fn take(&mut self, text: &str, (flow, direction): (u16, Direction), at: Time) {
        self.taken += 1;
        if self.taken > MOST_NOTES || text.len() > LONGEST_TEXT {
            return;
        }
        let Ok(said) = serde_json::from_str::<Measurement>(text) else {
            return;
        };
        if let (Some(app), Direction::Up) = (said.app_info, direction) {
            self.counts.push(Count {
                at,
                flow,
                direction,
                counter: Counter::ServerRead,
                bytes: bytes(app.num_bytes),
            });
        }
        self.kernel.extend(said.tcp_info.map(|tcp| KernelSample {
            at,
            side: Side::Server,
            flow,
            direction,
            state: tcp.state(),
        }));
    }
}

impl TcpInfo {
    fn state(&self) -> KernelState {
        // An hour is longer than any test.
        let span = |us: i64| Delta::us(us.clamp(0, 3_600_000_000));
        let some = |us: i64| Some(span(us)).filter(|span| *span > Delta::ZERO);
        let segments = |count: i64| bytes(count.min(MOST_SEGMENTS)).as_u64();
        let counts = self.sacked.zip(self.snd_mss).map(|(sacked, mss)| {
            let mss = bytes(mss.min(LARGEST_SEGMENT)).as_u64();
            let left_out = segments(sacked) + segments(self.lost);
            let sent = segments(self.unacked).saturating_sub(left_out) + segments(self.retrans);
            let behind = segments(sacked) + segments(self.d_sack_dups);
            (Bytes::new(sent * mss), Bytes::new(behind * mss))
        });
        KernelState {
            rtt: some(self.rtt),
            min_rtt: some(self.min_rtt),
            in_flight: counts.map_or(Bytes::ZERO, |(in_flight, _)| in_flight),
            delivered: counts.map(|(_, behind)| bytes(self.bytes_acked) + behind),
            acked: bytes(self.bytes_acked),
            received: bytes(self.bytes_received),
            busy: Some(span(self.busy_time)),
            window_limited: Some(span(self.rwnd_limited)),
            buffer_limited: Some(span(self.snd_buf_limited)),
            ..KernelState::default()
        }
    }
}

fn bytes(count: i64) -> Bytes {
    Bytes::new(u64::try_from(count).unwrap_or(0))
}

type Socket<S> = WebSocketStream<S>;

/// Why there is no WebSocket.
pub enum Refusal {
    Status(u16),
    Failed(io::Error),
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> io::Error {
        match refusal {
            Refusal::Status(status) => io::Error::other(format!("it answered {status}")),
            Refusal::Failed(error) => error,
        }
    }
}

/// Makes a stream a WebSocket of ndt7.
pub async fn upgrade<S>(
    stream: S,
    dialer: &Dialer,
    service: &Service,
    direction: Direction,
) -> Result<Socket<S>, Refusal>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let request = request(dialer, service, direction).map_err(|e| Refusal::Failed(failed(e)))?;
    let shaking = client_async_with_config(request, stream, Some(config()));
    match tokio::time::timeout(PATIENCE, shaking).await {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(Error::Http(answer))) => Err(Refusal::Status(answer.status().as_u16())),
        Ok(Err(error)) => Err(Refusal::Failed(failed(error))),
        Err(_) => Err(Refusal::Failed(io::ErrorKind::TimedOut.into())),
    }
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(LONGEST))
        .max_frame_size(Some(LONGEST))
        .max_write_buffer_size(UNREAD)
}

fn request(dialer: &Dialer, service: &Service, direction: Direction) -> Result<Request, Error> {
    let scheme = if dialer.origin.is_tls { "wss" } else { "ws" };
    let path = match direction {
        Direction::Down => &service.large,
        Direction::Up => &service.upload,
    };
    let version = env!("CARGO_PKG_VERSION");
    let separator = if path.contains('?') { '&' } else { '?' };
    let url = format!(
        "{scheme}://{}{path}{separator}client_name=unbloat&client_version={version}",
        dialer.origin.authority()
    );
    let mut request = url.into_client_request()?;
    let headers = request.headers_mut();
    headers.insert("sec-websocket-protocol", HeaderValue::from_static(PROTOCOL));
    if let Some(token) = &service.token {
        let bearer = HeaderValue::from_str(&format!("Bearer {token}"))?;
        headers.insert("authorization", bearer);
    }
    Ok(request)
}

fn failed(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// Where flows are carried, and by which sockets.
pub struct Path<'a> {
    pub dialer: &'a Dialer,
    pub service: &'a Service,
    pub settings: &'a Settings,
    /// What is uploaded.
    pub data: &'a bytes::Bytes,
    pub allowance: &'a Allowance,
}

/// Carries one flow until the server ends it.
pub async fn carry(path: Path<'_>, notes: &Mutex<Notes>, flow: &Arc<Flow>) -> io::Result<()> {
    let settings = path.settings.for_flow(flow);
    let (stream, handle) = path.dialer.stream(&settings).await?;
    flow.give(Link::Tcp(handle));
    let clock = path.dialer.clock;
    let hook = Counted {
        flow: flow.clone(),
        clock,
        allowance: path.allowance,
    };
    let counted = Layer { stream, hook };
    let socket = upgrade(counted, path.dialer, path.service, flow.direction).await?;
    let (sink, source) = socket.split();
    let heard = listen(source, notes, flow, clock);
    match flow.direction {
        Direction::Down => heard.await,
        Direction::Up => {
            let data = path.data.slice(..PIECE);
            tokio::select! {
                ended = heard => ended,
                ended = pump(sink, data, (flow, path.allowance)) => ended,
            }
        }
    }
}

async fn listen(
    mut source: impl Stream<Item = Result<Message, Error>> + Unpin,
    notes: &Mutex<Notes>,
    flow: &Flow,
    clock: Clock,
) -> io::Result<()> {
    while let Some(message) = source.next().await {
        match message.map_err(failed)? {
            Message::Text(text) => {
                lock(notes).take(&text, (flow.number, flow.direction), clock.now());
            }
            Message::Close(_) => break,
            _ => {}
        }
    }
    Ok(())
}

/// Hears a server without a handshake before.
pub(crate) async fn hear(
    stream: io::Cursor<Vec<u8>>,
    notes: &Mutex<Notes>,
    flow: &Flow,
    clock: Clock,
) -> io::Result<()> {
    use tokio_tungstenite::tungstenite::protocol::Role;
    let socket = Socket::from_raw_socket(stream, Role::Client, Some(config())).await;
    listen(socket, notes, flow, clock).await
}

async fn pump(
    mut sink: impl Sink<Message, Error = Error> + Unpin,
    data: bytes::Bytes,
    (flow, allowance): (&Flow, &Allowance),
) -> io::Result<()> {
    while allowance.take(data.len() as u64) {
        let message = Message::Binary(data.clone());
        sink.send(message).await.map_err(failed)?;
        flow.pace
            .bytes
            .fetch_add(data.len() as u64, Ordering::Relaxed);
    }
    // The stage ends because of it.
    std::future::pending().await
}

/// Counts what a download reads as it comes: a message may be longer than a second's worth. Frames' heads, a thousandth, are within.
struct Counted<'a> {
    flow: Arc<Flow>,
    clock: Clock,
    allowance: &'a Allowance,
}

impl<S> Hook<S> for Counted<'_> {
    fn read(&mut self, bytes: usize) {
        if self.flow.direction == Direction::Down && bytes > 0 {
            self.allowance.take(bytes as u64);
            self.flow.read(bytes, self.clock.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Stack;
    use futures_util::FutureExt;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::ReadBuf;
    use tokio_tungstenite::tungstenite::protocol::Role;

    fn taken(text: &str) -> Notes {
        let mut notes = Notes::default();
        notes.take(text, (3, Direction::Up), Time::from_ns(5));
        notes
    }

    #[test]
    fn a_measurement_is_the_server_s_count_and_its_kernel_s_view() {
        let notes = taken(
            r#"{"AppInfo":{"ElapsedTime":9,"NumBytes":4096},"Origin":"server","TCPInfo":{"RTT":12500,"MinRTT":9000,"New":1}}"#,
        );
        assert_eq!(notes.counts[0].bytes, Bytes::new(4096));
        assert_eq!(notes.kernel[0].state.rtt, Some(Delta::us(12_500)));
        assert_eq!(notes.kernel[0].state.min_rtt, Some(Delta::ms(9)));
    }

    /// What comes of a server that sends that after its handshake.
    fn heard(sent: &[u8]) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let clock = Clock::from(unbloat_os::clock::monotonic());
            let flows = crate::flow::Flows::default();
            let flow = flows.begin(0, Direction::Down, Stack::AsIs, clock.now());
            let stream = io::Cursor::new(sent.to_vec());
            hear(stream, &Mutex::default(), &flow, clock).await
        })
    }

    #[test]
    fn frames_that_are_too_long_or_none_end_the_flow_with_words() {
        // Binary, of a length in eight bytes.
        let mut long = vec![0x82, 0x7f];
        long.extend((LONGEST as u64 + 1).to_be_bytes());
        assert!(heard(&long).unwrap_err().to_string().contains("too long"));
        for other in [&[0x83, 0][..], &[0x81, 2, 0xff, 0xff], &[0x82, 0x7e], &[]] {
            assert!(heard(other).is_err());
        }
        assert!(heard(&[0x82, 1, 7, 0x88, 0]).is_ok());
    }

    /// Says what it has, then nothing, and reads nothing.
    struct Unread(io::Cursor<Vec<u8>>);

    impl AsyncRead for Unread {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let is_over = self.0.position() == self.0.get_ref().len() as u64;
            match is_over {
                true => Poll::Pending,
                false => Pin::new(&mut self.0).poll_read(context, into),
            }
        }
    }

    impl AsyncWrite for Unread {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Pending
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn pongs_that_nobody_reads_are_kept_to_a_bound() {
        let ping = [&[0x89, 125][..], &[7; 125]].concat();
        let stream = Unread(io::Cursor::new(ping.repeat(4 * UNREAD / ping.len())));
        let making = Socket::from_raw_socket(stream, Role::Client, Some(config()));
        let mut socket = making.now_or_never().unwrap();
        // Those that the library says nothing of are read as well.
        while socket.next().now_or_never().is_some() {}
        assert_eq!(
            socket.get_ref().0.position(),
            socket.get_ref().0.get_ref().len() as u64
        );
        let piece = Message::Binary(vec![0; PIECE].into());
        let context = &mut Context::from_waker(std::task::Waker::noop());
        let _ = Pin::new(&mut socket).poll_ready(context);
        let given = Pin::new(&mut socket).start_send(piece);
        assert!(matches!(given, Err(Error::WriteBufferFull(_))), "{given:?}");
    }

    #[test]
    fn what_a_hostile_server_says_is_bounded_or_left_out() {
        let odd = taken(r#"{"AppInfo":{"NumBytes":-5},"TCPInfo":{"RTT":9223372036854775807}}"#);
        assert_eq!(odd.counts[0].bytes, Bytes::new(0));
        assert_eq!(odd.kernel[0].state.rtt, Some(Delta::secs(3_600)));
        for text in ["", "[]", "{\"AppInfo\":7}", &" ".repeat(LONGEST_TEXT + 1)] {
            let notes = taken(text);
            assert!(notes.counts.is_empty() && notes.kernel.is_empty());
        }
        let mut many = Notes::default();
        for _ in 0..3 * MOST_NOTES {
            let text = r#"{"TCPInfo":{"RTT":1}}"#;
            many.take(text, (0, Direction::Down), Time::from_ns(0));
        }
        assert_eq!(many.kernel.len(), MOST_NOTES);
    }
}
