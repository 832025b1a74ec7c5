//! WebSockets: the handshake, and the echo for browsers.

use crate::answer::{Answer, JSON, answer, refusal};
use crate::thin::{Load, Thin};
use futures_util::{SinkExt, StreamExt};
use hyper::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

pub type Stream = WebSocketStream<TokioIo<Upgraded>>;

/// One whose load is only counted.
pub type ThinStream = WebSocketStream<Thin<TokioIo<Upgraded>>>;

/// Of a message of the echo.
pub const LONGEST: usize = 1024;

/// Messages of the echo in a second, control frames included.
const PER_SECOND: u32 = 200;

/// A client of the echo that says nothing is gone.
const SILENCE: Duration = Duration::from_secs(30);

/// What the request needs for its connection to become a WebSocket, and the answer that agrees.
pub struct Handshake {
    upgrade: OnUpgrade,
    answer: Response<Answer>,
}

impl Handshake {
    /// RFC 6455, 4.2. `protocol` must be among those that the client offers.
    pub fn of(
        parts: &Parts,
        protocol: Option<&'static str>,
    ) -> Result<Handshake, Box<Response<Answer>>> {
        let refused = |why| Err(Box::new(refusal(StatusCode::BAD_REQUEST, why)));
        let headers = &parts.headers;
        let wants =
            has_word(headers, UPGRADE, "websocket") && has_word(headers, CONNECTION, "upgrade");
        let upgrade = parts.extensions.get::<OnUpgrade>().cloned();
        let (Some(upgrade), true) = (upgrade, wants) else {
            return refused("this path needs a WebSocket over HTTP/1.1");
        };
        if !has_word(headers, SEC_WEBSOCKET_VERSION, "13") {
            return refused("only WebSocket version 13 is supported");
        }
        let Some(key) = headers.get(SEC_WEBSOCKET_KEY).filter(|k| k.len() == 24) else {
            return refused("the WebSocket key is missing");
        };
        if protocol.is_some_and(|p| !has_word(headers, SEC_WEBSOCKET_PROTOCOL, p)) {
            return refused("this WebSocket protocol is not supported");
        }
        let accept = derive_accept_key(key.as_bytes());
        Ok(Handshake {
            upgrade,
            answer: switching(&accept, protocol),
        })
    }

    /// The WebSocket, once the answer is sent; `longest` bytes are the most a message may have.
    pub async fn stream(upgrade: OnUpgrade, longest: usize) -> Option<Stream> {
        let io = TokioIo::new(upgrade.await.ok()?);
        Some(WebSocketStream::from_raw_socket(io, Role::Server, Some(config(longest))).await)
    }

    /// The same where binary messages are load, of any length; and what counts it.
    pub async fn thin_stream(upgrade: OnUpgrade, longest: usize) -> Option<(ThinStream, Load)> {
        let load = Load::default();
        let io = Thin::new(TokioIo::new(upgrade.await.ok()?), load.clone());
        let config = Some(config(longest));
        let stream = WebSocketStream::from_raw_socket(io, Role::Server, config).await;
        Some((stream, load))
    }

    pub fn split(self) -> (OnUpgrade, Response<Answer>) {
        (self.upgrade, self.answer)
    }
}

fn config(longest: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        // Frames of a byte cost more than they take on the wire: what is read at once is a turn.
        .read_buffer_size(16 << 10)
        .max_message_size(Some(longest))
        .max_frame_size(Some(longest))
        .max_write_buffer_size(4 << 20)
}

fn switching(accept: &str, protocol: Option<&'static str>) -> Response<Answer> {
    let mut response = answer(StatusCode::SWITCHING_PROTOCOLS, JSON, Answer::Text(None));
    let headers = response.headers_mut();
    headers.clear();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    let accept = HeaderValue::from_str(accept).expect("base64 is visible ASCII");
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if let Some(protocol) = protocol {
        let protocol = HeaderValue::from_static(protocol);
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response
}

fn has_word(headers: &HeaderMap, name: hyper::header::HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut words = texts.flat_map(|text| text.split(','));
    words.any(|w| w.trim().eq_ignore_ascii_case(word))
}

/// Sends back what comes, until the client ends it, is silent, or sends too much.
pub async fn echo(mut stream: Stream) {
    let mut second = (Instant::now(), 0);
    while let Ok(Some(message)) = timeout(SILENCE, stream.next()).await {
        let now = Instant::now();
        if now >= second.0 + Duration::from_secs(1) {
            second = (now, 0);
        }
        second.1 += 1;
        let sent = match message {
            Ok(_) if second.1 > PER_SECOND => return close(&mut stream, "too many messages").await,
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => stream.send(message).await,
            // A ping's answer is the library's.
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => stream.flush().await,
            Err(Error::Capacity(_)) => return close(&mut stream, "too long").await,
            Ok(Message::Close(_)) | Err(_) => return,
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn close(stream: &mut Stream, why: &'static str) {
    let frame = CloseFrame {
        code: CloseCode::Policy,
        reason: why.into(),
    };
    // To a client that is gone there is nothing to say.
    let _ = stream.close(Some(frame)).await;
}
