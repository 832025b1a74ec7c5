//! The other end, and how connections to it are opened.

use crate::apps::body::Upload;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::SockRef;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A connection that has not come up by then does not.
const PATIENCE: Duration = Duration::from_secs(15);

/// A server of `docs/protocol.md`.
#[derive(Clone, Debug)]
pub struct Server {
    pub address: SocketAddr,
    /// As its certificate has it.
    pub host: String,
    /// None: without TLS. Which HTTP is spoken is chosen here, whatever the configuration says.
    pub tls: Option<Arc<ClientConfig>>,
    /// What the server knows its users by.
    pub token: Option<String>,
    /// Where it echoes datagrams.
    pub echo: Option<SocketAddr>,
}

impl Server {
    pub(crate) fn with_http1(mut self) -> Server {
        if let Some(tls) = &mut self.tls {
            Arc::make_mut(tls).alpn_protocols = vec![b"http/1.1".to_vec()];
        }
        self
    }

    /// Host and port, as requests name them.
    pub(crate) fn authority(&self) -> String {
        let port = self.address.port();
        match self.host.contains(':') {
            true => format!("[{}]:{port}", self.host),
            false => format!("{}:{port}", self.host),
        }
    }

    pub(crate) async fn connect(&self) -> io::Result<SendRequest<Upload>> {
        let opened = tokio::time::timeout(PATIENCE, self.open()).await;
        opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    async fn open(&self) -> io::Result<SendRequest<Upload>> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        // What is not sent when the applications end must not stand in the way of what is measured next.
        SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
        let Some(tls) = &self.tls else {
            return shake(stream).await;
        };
        let name = ServerName::try_from(self.host.clone())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        shake(
            TlsConnector::from(tls.clone())
                .connect(name, stream)
                .await?,
        )
        .await
    }
}

async fn shake<S>(stream: S) -> io::Result<SendRequest<Upload>>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let (sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    tokio::task::spawn_local(connection);
    Ok(sender)
}
