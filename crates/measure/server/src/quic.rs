//! The same answers over HTTP/3.

use crate::admission::{Full, Ticket};
use crate::answer::Answer;
use crate::counters::count;
use crate::listen::{HEADER_BYTES, LOOKS, STREAMS, is_over, place};
use crate::options::duration;
use crate::peer::{Peer, QuicAccount};
use crate::service::serve;
use crate::shared::Shared;
use bytes::{Buf, Bytes};
use h3::error::{Code, StreamError};
use h3::server::{RequestResolver, RequestStream};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::Response;
pub use quinn::Connection;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    Endpoint, EndpointConfig, IdleTimeout, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tracing::{debug, info};
use unbloat_stream_limits::{Bounded, BoundedConnection};

/// For uploads: 4 MB a round trip are 640 Mbit/s over 50 ms.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// What waits to be sent or acknowledged: more than our client's window for one stream, so that its load never fills it.
/// Where it is full, all streams wait for the next acknowledgement's few bytes, load takes them, and answers to probes
/// starve for a second.
const SEND_WINDOW: u64 = 6 << 20;

/// Datagrams of all connections that wait in the kernel.
const SOCKET_BUFFER: usize = 4 << 20;

/// How long a handshake may take, which begins after the address is proved: two round trips.
const HANDSHAKE: Duration = Duration::from_secs(3);

pub fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    socket.set_recv_buffer_size(SOCKET_BUFFER)?;
    socket.set_send_buffer_size(SOCKET_BUFFER)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

pub fn config(tls: rustls::ServerConfig) -> Option<ServerConfig> {
    let crypto = QuicServerConfig::try_from(tls).ok()?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    // To an address that a client says it moved to we would send before it is proved.
    config.migration(false);
    Some(config)
}

/// What a connection may have that comes now.
fn transport(shared: &Shared) -> TransportConfig {
    let idle = duration(shared.limits.idle);
    let mut transport = TransportConfig::default();
    let idle = IdleTimeout::try_from(idle).ok();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(8))
        .stream_receive_window(shared.window(STREAM_WINDOW).into())
        .receive_window(shared.window(CONNECTION_WINDOW).into())
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(idle);
    transport
}

pub fn endpoint(socket: UdpSocket, config: ServerConfig) -> io::Result<Endpoint> {
    let runtime = Arc::new(TokioRuntime);
    Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)
}

pub async fn accept(shared: Arc<Shared>, endpoint: Endpoint, config: ServerConfig) {
    while let Some(incoming) = endpoint.accept().await {
        if !incoming.remote_address_validated() {
            // A tenth of what came. QUIC itself would allow us three times as much as came (RFC 9000, 8.1).
            let _ = incoming.retry();
            continue;
        }
        let address = incoming.remote_address().ip();
        let handshake = shared.handshakes.admit(address);
        let (Ok(handshake), Some((place, refused))) = (handshake, place(&shared, address)) else {
            count(&shared.counters.refused, 1);
            info!(client = %incoming.remote_address(), "QUIC connection refused: no place even to say why");
            incoming.refuse();
            continue;
        };
        count(&shared.counters.accepted, 1);
        let shared = Arc::clone(&shared);
        let mut config = config.clone();
        config.transport_config(Arc::new(transport(&shared)));
        tokio::spawn(async move {
            let come = incoming.accept_with(Arc::new(config));
            let ended = connection(&shared, come, (place, refused), handshake).await;
            debug!(has_failed = ended.is_none(), "QUIC connection ended");
            count(&shared.counters.failed, u64::from(ended.is_none()));
        });
    }
}

/// As the library counts.
pub fn account(connection: &Connection) -> QuicAccount {
    let path = connection.stats().path;
    QuicAccount {
        rtt_ms: path.rtt.as_secs_f64() * 1e3,
        min_rtt_ms: path.min_rtt.as_secs_f64() * 1e3,
        cwnd_bytes: path.cwnd,
        sent_packets: path.sent_packets,
        lost_packets: path.lost_packets,
        congestion_events: path.congestion_events,
        mtu_bytes: path.current_mtu,
    }
}

/// None if it failed.
async fn connection(
    shared: &Arc<Shared>,
    come: Result<quinn::Connecting, quinn::ConnectionError>,
    (place, refused): (Ticket, Option<Full>),
    handshake: Ticket,
) -> Option<()> {
    let connecting = come.ok()?;
    let from = connecting.remote_address();
    let limit = duration(shared.limits.header_time);
    let peer = Arc::new(Peer::new(shared.next_number(), from, true, refused));
    debug!(connection = peer.number, client = %from, limit = refused.map(debug), "QUIC connection accepted");
    // From now on it may have to give way.
    let _place = shared.connections.place(&peer, place);
    let quic = tokio::select! {
        connected = timeout(limit.min(HANDSHAKE), connecting) => connected.ok()?.ok()?,
        () = peer.sent_away() => return None,
    };
    drop(handshake);
    peer.know_quic(quic.clone());
    let mut builder = h3::server::builder();
    let builder = builder.max_field_section_size(u64::from(HEADER_BYTES));
    let built = builder.build::<_, Bytes>(BoundedConnection::new(quic.clone(), HEADER_BYTES));
    let mut http = timeout(limit, built).await.ok()?.ok()?;
    loop {
        let looked = tokio::select! {
            looked = timeout(LOOKS, http.accept()) => looked,
            () = peer.sent_away() => {
                quic.close(VarInt::from_u32(0x100), b"idle longest of its address");
                return Some(());
            }
        };
        match looked {
            Ok(Ok(Some(resolver))) => {
                tokio::spawn(request(Arc::clone(shared), Arc::clone(&peer), resolver));
            }
            Ok(Ok(None)) => return Some(()),
            Ok(Err(error)) => return error.is_h3_no_error().then_some(()),
            Err(_) if is_over(shared, &peer, Instant::now()) => {
                quic.close(VarInt::from_u32(0x10c), b"time is over");
                return None;
            }
            Err(_) => {}
        }
    }
}

type Resolver = RequestResolver<BoundedConnection, Bytes>;
type Sending = RequestStream<h3_quinn::SendStream<Bytes>, Bytes>;

async fn request(shared: Arc<Shared>, peer: Arc<Peer>, resolver: Resolver) {
    let limit = duration(shared.limits.header_time);
    let Ok(Ok((request, stream))) = timeout(limit, resolver.resolve_request()).await else {
        return;
    };
    let (sending, receiving) = stream.split();
    let request = request.map(|()| Upload(receiving));
    let response = serve(shared, peer, request).await;
    // The client's connection is gone, or it wants no more of this.
    let _ = answer(response, sending).await;
}

async fn answer(response: Response<Answer>, mut sending: Sending) -> Result<(), StreamError> {
    let (parts, mut body) = response.into_parts();
    sending
        .send_response(Response::from_parts(parts, ()))
        .await?;
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => sending.send_data(data).await?,
            Ok(Err(_)) => {}
            Err(_) => {
                sending.stop_stream(Code::H3_REQUEST_CANCELLED);
                return Ok(());
            }
        }
    }
    sending.finish().await
}

/// The body of a request over HTTP/3.
struct Upload(RequestStream<Bounded<h3_quinn::RecvStream>, Bytes>);

impl Body for Upload {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        let data = ready!(self.0.poll_recv_data(context));
        let data = data.transpose();
        Poll::Ready(data.map(|d| d.map(|mut d| Frame::data(d.copy_to_bytes(d.remaining())))))
    }
}
