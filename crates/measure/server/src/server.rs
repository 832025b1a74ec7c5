//! The server: bound first, so that it can say where; then run.

use crate::certificate::identity;
use crate::certificates::Certificates;
use crate::control::Controls;
use crate::counters::Counts;
use crate::echo;
use crate::error::ServeError;
use crate::listen::accept;
use crate::options::Options;
#[cfg(feature = "http3")]
use crate::quic;
use crate::shared::Shared;
use crate::user::keep_priority;
use schemars::JsonSchema;
use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio_rustls::TlsAcceptor;
use tracing::info;
use unbloat_os::heap;
use unbloat_os::limit::raise_open_files;
use unbloat_units::Rate;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// After how many turns of others a thread looks who else has something to do: where all are busy nobody else does, and tokio's 61 are a tenth of a
/// second of strangers who send what costs most.
const TURNS: u32 = 8;

/// How often the server looks whether it is to stop.
const LOOKS: Duration = Duration::from_millis(50);

/// Nobody was here for so long: what they had is freed.
const EMPTY: Duration = Duration::from_secs(1);

/// Where a server listens, and as whom.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Addresses {
    /// TCP with TLS.
    #[schemars(with = "String")]
    pub tls: SocketAddr,
    /// TCP without TLS.
    #[schemars(with = "Option<String>")]
    pub plain: Option<SocketAddr>,
    /// QUIC over UDP: the port of `tls`.
    #[cfg(feature = "http3")]
    #[schemars(with = "String")]
    pub quic: SocketAddr,
    /// irtt over UDP.
    #[schemars(with = "Option<String>")]
    pub echo: Option<SocketAddr>,
    /// SHA-256 of the certificate.
    pub fingerprint: String,
}

pub struct Server {
    shared: Arc<Shared>,
    addresses: Addresses,
    certificates: Arc<Certificates>,
    tls: (TcpListener, TlsAcceptor),
    #[cfg(feature = "http3")]
    quic: (UdpSocket, quinn::ServerConfig),
    plain: Option<TcpListener>,
    echo: Option<(UdpSocket, unbloat_irtt::Server)>,
    threads: usize,
}

impl Server {
    /// Opens all sockets; from now on clients are queued.
    pub fn bind(options: &Options) -> Result<Server, ServeError> {
        raise_open_files();
        keep_priority();
        #[cfg(feature = "http3")]
        let (tls, quic) = bind_both(options.listen)?;
        #[cfg(not(feature = "http3"))]
        let tls = bind("tls", options.listen, listen)?;
        let plain = options.plain.map(|address| bind("plain", address, listen));
        let plain = plain.transpose()?;
        let first = identity(&options.certificate, &[options.listen.ip()])?;
        let certificates = Arc::new(Certificates::new(first));
        let config = certificates.config(&[b"h2", b"http/1.1"])?;
        let echo = options
            .echo
            .map(|address| bind("echo", address, echo::bind));
        let echo = echo.transpose()?;
        #[cfg(feature = "http3")]
        let quic_config = quic::config(certificates.config(&[b"h3"])?).ok_or(ServeError::Quic)?;
        let addresses = Addresses {
            tls: tls.1,
            #[cfg(feature = "http3")]
            quic: quic.1,
            plain: plain.as_ref().map(|(_, address)| *address),
            echo: echo.as_ref().map(|(_, address)| *address),
            fingerprint: certificates.fingerprint(),
        };
        let port = addresses.echo.map(|address| address.port());
        let mut shared = Shared::new(options.limits.clone(), &options.tokens, port);
        shared.controls = Controls::new(&options.congestion_controls);
        let echo = echo.map(|(socket, _)| {
            let server = echo::server(&options.limits, &options.tokens);
            (socket, server)
        });
        Ok(Server {
            shared: Arc::new(shared),
            addresses,
            certificates,
            tls: (tls.0, TlsAcceptor::from(Arc::new(config))),
            #[cfg(feature = "http3")]
            quic: (quic.0, quic_config),
            plain: plain.map(|(listener, _)| listener),
            echo,
            threads: options.threads.max(1),
        })
    }

    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Changes who it is, while it runs too.
    pub fn certificates(&self) -> Arc<Certificates> {
        Arc::clone(&self.certificates)
    }

    /// Reads what it did, while it runs too.
    pub fn counts(&self) -> impl Fn() -> Counts + Send + Sync + use<> {
        let shared = Arc::clone(&self.shared);
        move || shared.counts()
    }

    /// Serves until `stop` is true, then ends all connections. `ready` is called once no more sockets are opened.
    pub fn run(mut self, stop: &AtomicBool, ready: impl FnOnce()) -> Result<(), ServeError> {
        let limits = &self.shared.limits;
        info!(
            tls = %self.addresses.tls,
            plain = self.addresses.plain.map(display),
            echo = self.addresses.echo.map(display),
            needs_token = !self.shared.tokens.is_open(),
            connections = limits.connections,
            connections_per_address = limits.connections_per_address,
            sessions = limits.sessions,
            sessions_per_address = limits.sessions_per_address,
            rate_bps = limits.rate.map(Rate::as_bps),
            "serving"
        );
        let is_over = AtomicBool::new(false);
        let stops = || stop.load(Ordering::Relaxed) || is_over.load(Ordering::Relaxed);
        std::thread::scope(|scope| {
            if let Some((socket, server)) = self.echo.take() {
                let shared = Arc::clone(&self.shared);
                scope.spawn(move || echo::run(&socket, server, &shared, stops));
            }
            let ended = self.run_http(stop, ready);
            is_over.store(true, Ordering::Relaxed);
            ended
        })
    }

    fn run_http(self, stop: &AtomicBool, ready: impl FnOnce()) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(self.threads)
            .event_interval(TURNS)
            .enable_all()
            .build()
            .map_err(ServeError::Threads)?;
        let shared = Arc::clone(&self.shared);
        let threads = self.threads;
        let ended = runtime.block_on(async move {
            self.start().map_err(ServeError::Threads)?;
            ready();
            let (mut known, mut last_guest) = (0, None);
            while !stop.load(Ordering::Relaxed) {
                let now = Instant::now();
                shared.tend(now);
                // Also of those who came and went meanwhile.
                let accepted = shared.counters.accepted.load(Ordering::Relaxed);
                if shared.connections.count() > 0 || accepted != known {
                    (known, last_guest) = (accepted, Some(now));
                } else if last_guest.is_some_and(|last| now > last + EMPTY) {
                    last_guest = None;
                    give_back(threads);
                }
                tokio::time::sleep(LOOKS).await;
            }
            Ok(())
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        ended
    }

    fn start(self) -> io::Result<()> {
        let (listener, acceptor) = self.tls;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let shared = Arc::clone(&self.shared);
        tokio::spawn(accept(shared, listener, Some(acceptor)));
        #[cfg(feature = "http3")]
        {
            let (socket, config) = self.quic;
            let endpoint = quic::endpoint(socket, config.clone())?;
            tokio::spawn(quic::accept(Arc::clone(&self.shared), endpoint, config));
        }
        if let Some(plain) = self.plain {
            let plain = tokio::net::TcpListener::from_std(plain)?;
            tokio::spawn(accept(self.shared, plain, None));
        }
        Ok(())
    }
}

/// Has each thread of the runtime return what its guests had, once all of them have gone. One that has come here keeps its thread until the
/// others have, for so long as a newcomer may wait.
fn give_back(threads: usize) {
    let here = Arc::new(AtomicUsize::new(0));
    for _ in 0..threads {
        let here = Arc::clone(&here);
        tokio::spawn(async move {
            let until = Instant::now() + LOOKS;
            here.fetch_add(1, Ordering::Relaxed);
            while here.load(Ordering::Relaxed) < threads && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            heap::give_back();
        });
    }
    heap::give_back();
}

type Bound<S> = (S, SocketAddr);

/// One number for TCP and UDP. A port that is free for one may be taken for the other.
#[cfg(feature = "http3")]
fn bind_both(address: SocketAddr) -> Result<(Bound<TcpListener>, Bound<UdpSocket>), ServeError> {
    let mut tries = if address.port() == 0 { 20 } else { 1 };
    loop {
        tries -= 1;
        let tls = bind("tls", address, listen)?;
        let same = SocketAddr::new(address.ip(), tls.1.port());
        match bind("quic", same, quic::bind) {
            Ok(quic) => return Ok((tls, quic)),
            Err(error) if tries == 0 => return Err(error),
            Err(_) => {}
        }
    }
}

/// Opens a socket; and where it is.
fn bind<S: Local>(
    what: &'static str,
    address: SocketAddr,
    open: impl FnOnce(SocketAddr) -> io::Result<S>,
) -> Result<Bound<S>, ServeError> {
    let opened = open(address).and_then(|socket| {
        let local = socket.local()?;
        Ok((socket, local))
    });
    opened.map_err(|source| ServeError::Bind {
        what,
        address,
        source,
    })
}

trait Local {
    fn local(&self) -> io::Result<SocketAddr>;
}

impl Local for TcpListener {
    fn local(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }
}

impl Local for UdpSocket {
    fn local(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from(socket))
}
