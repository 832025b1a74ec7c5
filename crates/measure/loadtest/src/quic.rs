//! HTTP/3: connections of QUIC, each from a port of its own, so that routers which keep flows apart keep these apart too.

use crate::retries::Watched;
use crate::socket::{PATIENCE, WINDOW};
use crate::upload::Body;
use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3::error::StreamError;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame};
use hyper::{Request, Response};
pub use quinn::Connection;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, EndpointConfig, TokioRuntime, TransportConfig};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::time::timeout;
use unbloat_stream_limits::{Bounded, BoundedConnection, BoundedOpener};

/// Of one stream, 640 Mbit/s over 50 ms; of the connection it is [`WINDOW`].
const STREAM_WINDOW: u32 = 4 << 20;
/// Given to QUIC and not yet acknowledged. Streams take turns by packets, so a probe does not wait for all of it; but where this
/// is full, all wait for room, so it is more than our server's window for one stream of load.
const SEND_WINDOW: u64 = 6 << 20;
/// Of a header with all its fields; those of servers of tests are some hundred.
const HEADER_BYTES: u32 = 16 << 10;
/// H3_NO_ERROR, RFC 9114, 8.1.
const NO_ERROR: u32 = 0x100;

/// Sends requests over one connection.
pub type Sender = SendRequest<BoundedOpener, Bytes>;

/// A connection that stands.
pub struct Opened {
    pub sender: Sender,
    pub connection: Connection,
    /// Of the handshake: one, and one more for each time that the server first wanted the address proved.
    pub round_trips: u8,
}

/// What [`connect`] needs of TLS.
pub type Crypto = Arc<QuicClientConfig>;

pub fn crypto(tls: rustls::ClientConfig) -> Option<Crypto> {
    QuicClientConfig::try_from(tls).ok().map(Arc::new)
}

/// Connects until requests can be sent: the server's handshake is complete then.
pub async fn connect(
    (to, host): (SocketAddr, &str),
    crypto: Crypto,
    receive_window: Option<u32>,
) -> io::Result<Opened> {
    let any = match to {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let watched = Arc::new(Watched::new(std::net::UdpSocket::bind(any)?)?);
    let runtime = Arc::new(TokioRuntime);
    let socket = watched.clone();
    let endpoint =
        Endpoint::new_with_abstract_socket(EndpointConfig::default(), None, socket, runtime)?;
    let mut config = ClientConfig::new(crypto);
    config.transport_config(Arc::new(transport(receive_window)));
    let connecting = endpoint.connect_with(config, to, host);
    let connecting = connecting.map_err(io::Error::other)?;
    let connection = in_time(connecting).await?;
    let round_trips = watched.retries().saturating_add(1);
    let mut builder = h3::client::builder();
    let builder = builder.max_field_section_size(HEADER_BYTES.into());
    let bounded = BoundedConnection::new(connection.clone(), HEADER_BYTES);
    let (mut driver, sender) = in_time(builder.build::<_, _, Bytes>(bounded)).await?;
    tokio::spawn(async move { driver.wait_idle().await });
    Ok(Opened {
        sender,
        connection,
        round_trips,
    })
}

fn transport(receive_window: Option<u32>) -> TransportConfig {
    let window = receive_window.unwrap_or(WINDOW);
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(STREAM_WINDOW.min(window).into())
        .receive_window(window.into())
        .send_window(SEND_WINDOW)
        .max_concurrent_bidi_streams(0_u32.into())
        .max_concurrent_uni_streams(8_u32.into())
        .datagram_receive_buffer_size(None);
    transport
}

async fn in_time<T, E>(waiting: impl IntoFuture<Output = Result<T, E>>) -> io::Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    match timeout(PATIENCE, waiting).await {
        Ok(done) => done.map_err(io::Error::other),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Ends a connection at once: what it has not sent is thrown away.
pub fn close(connection: &Connection) {
    connection.close(NO_ERROR.into(), b"");
}

/// Sends a request; a body without end is sent until the server answers.
pub async fn send(sender: &mut Sender, request: Request<Body>) -> io::Result<Response<Download>> {
    let (parts, body) = request.into_parts();
    let head = Request::from_parts(parts, ());
    let stream = sender.send_request(head).await;
    let (mut sending, mut receiving) = stream.map_err(io::Error::other)?.split();
    let response = if body.is_end_stream() {
        sending.finish().await.map_err(io::Error::other)?;
        receiving.recv_response().await
    } else {
        tokio::select! {
            response = receiving.recv_response() => response,
            error = pump(&mut sending, body) => Err(error),
        }
    };
    let response = response.map_err(io::Error::other)?;
    Ok(response.map(|()| Download(receiving)))
}

type Sending = RequestStream<h3_quinn::SendStream<Bytes>, Bytes>;

/// Until it fails.
async fn pump(sending: &mut Sending, mut body: Body) -> StreamError {
    loop {
        let Some(Ok(frame)) = body.frame().await else {
            // A body without end has none; what ended all the same is waited for with the answer.
            return std::future::pending().await;
        };
        if let Ok(data) = frame.into_data()
            && let Err(error) = sending.send_data(data).await
        {
            return error;
        }
    }
}

/// The body of an answer.
pub struct Download(RequestStream<Bounded<h3_quinn::RecvStream>, Bytes>);

impl HttpBody for Download {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        let data = ready!(self.0.poll_recv_data(context)).transpose();
        let frame = data.map(|d| d.map(|mut d| Frame::data(d.copy_to_bytes(d.remaining()))));
        Poll::Ready(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Trust;
    use quinn::crypto::rustls::QuicServerConfig;
    use std::time::Duration;

    /// So long a frame is claimed.
    const GIANT: u32 = 1 << 30;
    /// RFC 9114, 7.2.2, 7.2.4.
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;

    /// Of a frame whose payload is that long; four bytes are enough for its length.
    fn head(kind: u8, length: u32) -> Vec<u8> {
        [&[kind][..], &(length | 2 << 30).to_be_bytes()].concat()
    }

    fn server() -> Endpoint {
        let (tls, _) = unbloat_server::testing::tls(&["box"], &[b"h3"]);
        let crypto = QuicServerConfig::try_from(tls).unwrap();
        let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
        // Else a client that waits would be saved by the end of an idle connection.
        let mut transport = TransportConfig::default();
        transport.keep_alive_interval(Some(Duration::from_secs(5)));
        config.transport_config(Arc::new(transport));
        Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).unwrap()
    }

    /// Begins the control stream and one answer with these bytes, and says no more.
    async fn lie(server: Endpoint, control: Vec<u8>, answer: Vec<u8>) {
        let connection = server.accept().await.unwrap().await.unwrap();
        let mut controlling = connection.open_uni().await.unwrap();
        controlling.write_all(&[0]).await.unwrap();
        controlling.write_all(&control).await.unwrap();
        if let Ok((mut answering, _request)) = connection.accept_bi().await {
            answering.write_all(&answer).await.unwrap();
            connection.closed().await;
        }
    }

    /// What comes of a request of such a server.
    async fn asked(control: Vec<u8>, answer: Vec<u8>) -> io::Result<Response<Download>> {
        let server = server();
        let to = server.local_addr().unwrap();
        tokio::spawn(lie(server, control, answer));
        let trust = Trust {
            is_blind: true,
            ..Trust::default()
        };
        let crypto = crypto(crate::tls::config(&trust, &["h3"]).unwrap()).unwrap();
        let mut opened = connect((to, "box"), crypto, None).await?;
        let request = Request::get("https://box/").body(Body::Empty).unwrap();
        send(&mut opened.sender, request).await
    }

    #[tokio::test]
    async fn a_server_s_giant_frame_is_refused_at_its_length() {
        let settings = head(SETTINGS, 0);
        let lies = [
            (settings, head(HEADERS, GIANT - 1)),
            (head(SETTINGS, GIANT - 1), Vec::new()),
        ];
        for (control, answer) in lies {
            // Who waits for the rest waits for ever.
            let ended = timeout(Duration::from_secs(60), asked(control, answer)).await;
            let refused = ended.expect("it is not waited for").err();
            assert!(refused.is_some());
        }
    }
}
