//! The server: bound first, so that it can say where; then run.

use crate::certificate::Identity;
use crate::counters::Counts;
use crate::error::ServeError;
use crate::listen::accept;
use crate::memory::raise_file_limit;
use crate::options::Options;
use crate::shared::Shared;
use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_rustls::TlsAcceptor;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// How often the server looks whether it is to stop.
const LOOKS: Duration = Duration::from_millis(50);

/// Where a server listens, and as whom.
#[derive(Clone, Debug, Serialize)]
pub struct Addresses {
    /// TCP with TLS.
    pub tls: SocketAddr,
    /// TCP without.
    pub plain: Option<SocketAddr>,
    /// SHA-256 of the certificate.
    pub fingerprint: String,
}

pub struct Server {
    shared: Arc<Shared>,
    addresses: Addresses,
    tls: (TcpListener, TlsAcceptor),
    plain: Option<TcpListener>,
    threads: usize,
}

impl Server {
    /// Opens all sockets; from now on clients are queued.
    pub fn bind(options: &Options) -> Result<Server, ServeError> {
        raise_file_limit();
        let tls = listen("tls", options.listen)?;
        let plain = options.plain.map(|address| listen("plain", address));
        let plain = plain.transpose()?;
        let identity = Identity::of(&options.certificate, &[options.listen.ip()])?;
        let config = identity.config(&[b"h2", b"http/1.1"])?;
        let addresses = Addresses {
            tls: local("tls", &tls, options.listen)?,
            plain: match &plain {
                Some(listener) => Some(local("plain", listener, options.listen)?),
                None => None,
            },
            fingerprint: identity.fingerprint(),
        };
        let shared = Shared::new(options.limits.clone(), &options.tokens, None);
        Ok(Server {
            shared: Arc::new(shared),
            addresses,
            tls: (tls, TlsAcceptor::from(Arc::new(config))),
            plain,
            threads: options.threads.max(1),
        })
    }

    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Reads what it did, while it runs too.
    pub fn counts(&self) -> impl Fn() -> Counts + Send + Sync + use<> {
        let shared = Arc::clone(&self.shared);
        move || shared.counts()
    }

    /// Serves until `stop` is true, then ends all connections.
    pub fn run(self, stop: &AtomicBool) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(self.threads)
            .enable_all()
            .build()
            .map_err(ServeError::Threads)?;
        let shared = Arc::clone(&self.shared);
        let ended = runtime.block_on(async move {
            self.start().map_err(ServeError::Threads)?;
            while !stop.load(Ordering::Relaxed) {
                shared.tend(Instant::now());
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
        tokio::spawn(accept(Arc::clone(&self.shared), listener, Some(acceptor)));
        if let Some(plain) = self.plain {
            let plain = tokio::net::TcpListener::from_std(plain)?;
            tokio::spawn(accept(self.shared, plain, None));
        }
        Ok(())
    }
}

fn listen(what: &'static str, address: SocketAddr) -> Result<TcpListener, ServeError> {
    let open = || {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(TcpListener::from(socket))
    };
    open().map_err(|source| ServeError::Bind {
        what,
        address,
        source,
    })
}

fn local(
    what: &'static str,
    listener: &TcpListener,
    address: SocketAddr,
) -> Result<SocketAddr, ServeError> {
    listener.local_addr().map_err(|source| ServeError::Bind {
        what,
        address,
        source,
    })
}
