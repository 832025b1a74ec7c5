//! Connections of HTTP/1.1, 2 and 3, opened step by step so that each step can be timed.

use crate::beside::{Tallied, Tally};
use crate::error::TestError;
use crate::held::Held;
use crate::options::{Http, Options};
use crate::paced::Paced;
use crate::quic;
use crate::socket::{self, PATIENCE, Settings, WINDOW};
use crate::target::Origin;
use crate::tls;
use crate::upload::{Body, Pace};
use bytes::Bytes;
use http_body_util::{BodyExt, Either, Limited};
use hyper::client::conn::{http1, http2};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use unbloat_os::clock::Clock;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_stream_limits::{Layer, Turns};
use unbloat_units::Delta;

/// Unsent data of one stream in HTTP/2's own buffer.
const STREAM_BUFFER: usize = 32 * 1024;

/// The body of an answer: of HTTP/1.1 and 2, or of 3.
pub type Incoming = Either<hyper::body::Incoming, quic::Download>;

/// What bytes go through both ways.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// How to reach a server: where, and by which TLS, over TCP and over QUIC.
#[derive(Clone)]
pub struct Dialer {
    pub origin: Origin,
    pub address: SocketAddr,
    pub clock: Clock,
    /// What connections that are not for load carry.
    pub beside: Tally,
    tls: Option<Arc<ClientConfig>>,
    /// Where load is to go over HTTP/3.
    quic: Option<quic::Crypto>,
}

impl Dialer {
    pub fn new(
        options: &Options,
        origin: Origin,
        address: SocketAddr,
        clock: Clock,
    ) -> Result<Dialer, TestError> {
        let alpn: &[&str] = match options.http {
            Http::One => &["http/1.1"],
            Http::Two if !origin.is_well_known() => &["h2", "http/1.1"],
            Http::Two => &["h2"],
            Http::Three => &["h2", "http/1.1"],
        };
        let tls = origin
            .is_tls
            .then(|| tls::config(&options.trust, alpn))
            .transpose()?;
        let quic = (origin.is_tls && options.http == Http::Three)
            .then(|| tls::config(&options.trust, &["h3"]))
            .transpose()?
            .and_then(quic::crypto);
        Ok(Dialer {
            origin,
            address,
            clock,
            beside: Tally::default(),
            tls: tls.map(Arc::new),
            quic,
        })
    }

    /// The same server at another address.
    pub fn at(&self, address: SocketAddr) -> Dialer {
        Dialer {
            address,
            ..self.clone()
        }
    }

    /// The same server for applications, which open connections of their own.
    pub fn for_apps(&self, token: Option<&str>, echo: Option<SocketAddr>) -> crate::apps::Server {
        crate::apps::Server {
            address: self.address,
            host: self.origin.host.clone(),
            tls: self.tls.clone(),
            token: token.map(str::to_owned),
            echo,
        }
    }

    /// Opens a connection for load, of `http`, which TLS may overrule by what the server knows.
    pub async fn open(&self, http: Http, settings: &Settings) -> io::Result<Connection> {
        self.open_counted(http, settings, None).await
    }

    /// Opens one that is not for load.
    pub async fn open_beside(&self, http: Http) -> io::Result<Connection> {
        self.open_counted(http, &Settings::default(), Some(self.beside.clone()))
            .await
    }

    /// A connection of TCP, and nothing over it.
    pub async fn connect(&self, settings: &Settings) -> io::Result<Connected> {
        let begin = self.clock.now();
        let stream = socket::connect(self.address, settings).await?;
        let took = self.clock.now().since(begin);
        let handle = socket::handle(&stream)?;
        let info = TcpInfo::of(handle.as_fd());
        Ok(Connected {
            stream,
            handle,
            took,
            is_resent: info.is_ok_and(|info| info.retransmissions() > 0),
        })
    }

    async fn open_counted(
        &self,
        http: Http,
        settings: &Settings,
        tally: Option<Tally>,
    ) -> io::Result<Connection> {
        if http == Http::Three {
            return self.open_quic(settings).await;
        }
        let Connected {
            stream,
            handle,
            took,
            is_resent,
        } = self.connect(settings).await?;
        let stream = Held::new(stream, settings.pace.is_some());
        let mut opened = Connection {
            sender: None,
            link: Link::Tcp(handle),
            tcp: Some(took),
            tcp_resent: is_resent,
            tls: None,
            tls_round_trips: 0,
            tls_version: None,
        };
        let stream = Layer {
            stream,
            hook: Tallied(tally),
        };
        opened.sender = Some(match &self.tls {
            None => shake(stream, http).await?,
            Some(config) => {
                let shaking = self.clock.now();
                let tls = self
                    .shake_tls(stream, config.clone(), settings.pace.clone())
                    .await?;
                opened.tls = Some(self.clock.now().since(shaking));
                let (_, session) = tls.stream.get_ref();
                let is_13 = session.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
                opened.tls_round_trips = if is_13 { 1 } else { 2 };
                opened.tls_version = session
                    .protocol_version()
                    .and_then(|version| version.as_str());
                let http = match session.alpn_protocol() {
                    Some(b"h2") => Http::Two,
                    Some(_) => Http::One,
                    // Who chooses none knows of none.
                    None if !self.origin.is_well_known() => Http::One,
                    None => http,
                };
                shake(tls, http).await?
            }
        });
        Ok(opened)
    }

    /// A stream for what is no plain request, with TLS where the server has it.
    pub async fn stream(&self, settings: &Settings) -> io::Result<(Box<dyn Duplex>, OwnedFd)> {
        let stream = socket::connect(self.address, settings).await?;
        let handle = socket::handle(&stream)?;
        let stream = Held::new(stream, settings.pace.is_some());
        let Some(config) = &self.tls else {
            return Ok((Box::new(stream), handle));
        };
        let shaken = self.shake_tls(stream, config.clone(), settings.pace.clone());
        Ok((Box::new(shaken.await?), handle))
    }

    async fn open_quic(&self, settings: &Settings) -> io::Result<Connection> {
        let crypto = self.quic.clone().ok_or(io::ErrorKind::Unsupported)?;
        let begin = self.clock.now();
        let to = (self.address, &self.origin.host[..]);
        let opened = quic::connect(to, crypto, settings.receive_window).await?;
        Ok(Connection {
            sender: Some(Sender::Three(opened.sender)),
            link: Link::Quic(opened.connection),
            tcp: None,
            tcp_resent: false,
            tls: Some(self.clock.now().since(begin)),
            tls_round_trips: opened.round_trips,
            tls_version: Some("TLSv1_3"),
        })
    }

    async fn shake_tls<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        config: Arc<ClientConfig>,
        pace: Option<Arc<Pace>>,
    ) -> io::Result<Layer<TlsStream<S>, Paced>> {
        let name = ServerName::try_from(self.origin.host.clone())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let shaking = TlsConnector::from(config).connect(name, stream);
        match tokio::time::timeout(PATIENCE, shaking).await {
            Ok(shaken) => Ok(Layer {
                stream: shaken?,
                hook: Paced(pace),
            }),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// A connection of TCP that stands.
pub struct Connected {
    stream: TcpStream,
    handle: OwnedFd,
    pub took: Delta,
    /// The first packet was lost.
    pub is_resent: bool,
}

/// What carries a connection, for those who ask or end it.
#[derive(Debug)]
pub enum Link {
    /// Another handle of the socket.
    Tcp(OwnedFd),
    Quic(quic::Connection),
}

/// A connection that stands, and how long its parts took.
pub struct Connection {
    sender: Option<Sender>,
    link: Link,
    /// None where QUIC does the handshakes of both in one: that is `tls`.
    pub tcp: Option<Delta>,
    /// The first packet was lost.
    pub tcp_resent: bool,
    pub tls: Option<Delta>,
    pub tls_round_trips: u8,
    pub tls_version: Option<&'static str>,
}

impl Connection {
    pub fn http(&self) -> Http {
        match self.sender {
            Some(Sender::Two(_)) => Http::Two,
            Some(Sender::Three(_)) => Http::Three,
            _ => Http::One,
        }
    }

    /// What sends requests over it; the connection ends when the last of them is dropped.
    pub fn into_parts(self) -> (Sender, Link) {
        (self.sender.expect("it was opened"), self.link)
    }
}

/// Sends requests over one connection.
pub enum Sender {
    One(http1::SendRequest<Body>),
    Two(http2::SendRequest<Body>),
    Three(quic::Sender),
}

impl Sender {
    /// Another one for the same connection, if requests may share it.
    pub fn share(&self) -> Option<Sender> {
        match self {
            Sender::One(_) => None,
            Sender::Two(sender) => Some(Sender::Two(sender.clone())),
            Sender::Three(sender) => Some(Sender::Three(sender.clone())),
        }
    }

    pub async fn send(&mut self, request: Request<Body>) -> io::Result<Response<Incoming>> {
        let sent = match self {
            Sender::One(sender) => {
                sender.ready().await.map_err(io::Error::other)?;
                sender.send_request(request).await
            }
            Sender::Two(sender) => {
                sender.ready().await.map_err(io::Error::other)?;
                sender.send_request(request).await
            }
            Sender::Three(sender) => {
                let response = quic::send(sender, request).await?;
                return Ok(response.map(Either::Right));
            }
        };
        let response = sent.map_err(io::Error::other)?;
        Ok(response.map(Either::Left))
    }
}

/// Read of a connection before others have their turn. HTTP/2 keeps interim answers, in twenty times their bytes, until the task that waits
/// for an answer runs and drops them.
const TURN: usize = 256 << 10;

async fn shake<S>(stream: S, http: Http) -> io::Result<Sender>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    if http == Http::One {
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(io::Error::other)?;
        tokio::spawn(connection);
        return Ok(Sender::One(sender));
    }
    let hook = Turns::of(TURN);
    let stream = TokioIo::new(Layer { hook, stream });
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buf_size(STREAM_BUFFER)
        .handshake(stream)
        .await
        .map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(Sender::Two(sender))
}

/// A request as every test sends it: no coding, no priority.
pub fn request(
    origin: &Origin,
    (method, path): (Method, &str),
    token: Option<&str>,
    body: Body,
) -> io::Result<Request<Body>> {
    let mut builder = Request::builder()
        .method(method)
        .uri(origin.url(path))
        .header("accept-encoding", "identity")
        .header("user-agent", concat!("unbloat/", env!("CARGO_PKG_VERSION")));
    if let Some(token) = token {
        builder = builder.header("authorization", format!("Bearer {token}"));
    }
    builder.body(body).map_err(io::Error::other)
}

/// As [`request`], in the form of HTTP/1.1 where the connection is one.
pub fn fit(mut request: Request<Body>, sender: &Sender) -> io::Result<Request<Body>> {
    if let Sender::One(_) = sender {
        let host = request
            .uri()
            .authority()
            .map(|authority| authority.as_str().to_owned());
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str());
        let uri = path.parse().map_err(io::Error::other)?;
        let host = host.unwrap_or_default().parse().map_err(io::Error::other)?;
        *request.uri_mut() = uri;
        request.headers_mut().insert("host", host);
    }
    Ok(request)
}

/// A whole body of at most so many bytes.
pub async fn whole(body: Incoming, most: usize) -> io::Result<Bytes> {
    let read = tokio::time::timeout(PATIENCE, Limited::new(body, most).collect()).await;
    match read {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) => Err(io::Error::other(error)),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
