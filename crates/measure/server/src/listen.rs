//! Connections over TCP: let in or not, encrypted or not, watched until they end.

use crate::admission::{Full, Ticket};
use crate::counters::count;
use crate::options::duration;
use crate::peer::{Activity, Peer};
use crate::service::serve;
use crate::shared::Shared;
use crate::wire::{flushing, known};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info};

/// For a header with all its fields in HTTP/2 and 3. In HTTP/1.1 it is bounded by the buffer that it is read to, which
/// bodies share and want larger.
pub const HEADER_BYTES: u32 = 16 << 10;
const HTTP1_BUFFER: usize = 128 << 10;
const HEADER_FIELDS: usize = 64;

/// For uploads: 8 MB a round trip are 1.3 Gbit/s over 50 ms. They are read as they come, so nobody is owed as much;
/// where a rate keeps them from being read, [`Shared::window`] says less.
const STREAM_WINDOW: u32 = 8 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// Loads and probes of one client: the draft has 16 and 100 a second.
pub const STREAMS: u32 = 128;

/// How often a connection is looked at.
pub const LOOKS: Duration = Duration::from_secs(1);

/// What a transfer may take to end by itself once its time is over.
const GRACE: Duration = Duration::from_secs(5);

/// How long a connection that gives way may take to close as its protocol has it: GOAWAY, and what was asked before that.
/// If many give way at a time, what can be written at once is all.
const FAREWELL: Duration = Duration::from_millis(200);

pub async fn accept(shared: Arc<Shared>, listener: TcpListener, tls: Option<TlsAcceptor>) {
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // No files left, or the connection is gone already: others end meanwhile.
            sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Some((place, refused)) = place(&shared, from.ip()) else {
            count(&shared.counters.refused, 1);
            info!(client = %from, "connection refused: no place even to say why");
            continue;
        };
        count(&shared.counters.accepted, 1);
        let number = shared.next_number();
        debug!(connection = number, client = %from, is_encrypted = tls.is_some(), limit = refused.map(debug), "connection accepted");
        let mut peer = Peer::new(number, from, tls.is_some(), refused);
        peer.to = stream.local_addr().ok();
        let connection = connection(
            Arc::clone(&shared),
            stream,
            Arc::new(peer),
            place,
            tls.clone(),
        );
        tokio::spawn(connection);
    }
}

/// A place in the house, or in the lobby with the reason why; none if that is full too.
pub fn place(shared: &Shared, address: IpAddr) -> Option<(Ticket, Option<Full>)> {
    let admitted = if shared.memory_is_full.load(Ordering::Relaxed) {
        Err(Full::All)
    } else {
        shared.connections.admit(address)
    };
    match admitted {
        Ok(place) => Some((place, None)),
        Err(why) => Some((shared.lobby.admit(address).ok()?, Some(why))),
    }
}

async fn connection(
    shared: Arc<Shared>,
    stream: TcpStream,
    peer: Arc<Peer>,
    place: Ticket,
    tls: Option<TlsAcceptor>,
) {
    // Refused only for a connection that is gone.
    let _ = stream.set_nodelay(true);
    peer.know_socket(&stream);
    let place = shared.connections.place(&peer, place);
    let known = known(stream, Arc::clone(&peer), place);
    let ended = match tls {
        None => http(&shared, known, Arc::clone(&peer)).await,
        Some(tls) => {
            let limit = duration(shared.limits.header_time);
            let accepted = tokio::select! {
                accepted = timeout(limit, tls.accept(known)) => accepted.ok(),
                () = peer.sent_away() => None,
            };
            match accepted {
                Some(Ok(encrypted)) => http(&shared, encrypted, Arc::clone(&peer)).await,
                // Somebody wanted to know whether anything listens here.
                Some(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
                Some(Err(_)) | None => Err(Failed),
            }
        }
    };
    // Clients that have what they want often leave without a farewell.
    let has_failed = ended.is_err() && peer.is_silent();
    debug!(connection = peer.number, has_failed, "connection ended");
    count(&shared.counters.failed, u64::from(has_failed));
}

pub struct Failed;

pub async fn http<S>(shared: &Arc<Shared>, stream: S, peer: Arc<Peer>) -> Result<(), Failed>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| {
        let answer = serve(Arc::clone(shared), Arc::clone(&peer), request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let io = TokioIo::new(flushing(stream, Arc::clone(&peer)));
    let builder = builder(shared);
    let mut connection = pin!(builder.serve_connection_with_upgrades(io, service));
    loop {
        let looked = tokio::select! {
            looked = timeout(LOOKS, connection.as_mut()) => looked,
            () = peer.sent_away() => {
                connection.as_mut().graceful_shutdown();
                // Its place is another's already: whether it ended well is its own affair.
                let place = shared.leaving.admit(peer.from.ip());
                let patience = if place.is_ok() { FAREWELL } else { Duration::ZERO };
                let _ = timeout(patience, connection).await;
                return Ok(());
            }
        };
        match looked {
            Ok(ended) => return ended.map_err(|_| Failed),
            Err(_) if !is_over(shared, &peer, Instant::now()) => {}
            Err(_) => return Err(Failed),
        }
    }
}

fn builder(shared: &Shared) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(duration(shared.limits.header_time))
        .max_headers(HEADER_FIELDS)
        .max_buf_size(HTTP1_BUFFER);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEADER_BYTES)
        .max_concurrent_streams(STREAMS)
        .max_local_error_reset_streams(64)
        .initial_stream_window_size(shared.window(STREAM_WINDOW))
        .initial_connection_window_size(shared.window(CONNECTION_WINDOW));
    builder
}

/// Whether a connection was idle for too long, or works at something whose time is over. A client that sends a
/// request's header byte by byte is idle.
pub fn is_over(shared: &Shared, peer: &Peer, now: Instant) -> bool {
    match peer.activity() {
        Activity::Busy { until } => now > until + GRACE,
        Activity::Idle { since } => now > since + duration(shared.limits.idle),
    }
}
