//! Who a server says it is, asked before anything but a handshake is sent there.

use crate::addresses::{addresses, blocking, first, patiently};
use crate::error::TestError;
use crate::options::IpVersion;
use crate::target::Origin;
use crate::tls::{Fingerprint, recording};
use rustls::pki_types::ServerName;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use unbloat_os::lock::lock;

/// What a server's certificate is worth to this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Introduction {
    /// An authority of this system vouches for the name.
    Vouched,
    /// Nobody does. The SHA-256 of the certificate in DER.
    Stranger(Fingerprint),
}

/// Shakes hands with a server.
///
/// # Errors
/// It cannot be reached, or does not speak TLS.
pub fn introduce(origin: &Origin, ip: Option<IpVersion>) -> Result<Introduction, TestError> {
    let name = ServerName::try_from(origin.host.clone()).map_err(|error| TestError::Name {
        host: origin.host.clone(),
        source: io::Error::other(error),
    })?;
    blocking(async {
        let all = addresses(&origin.host, origin.port, ip).await?;
        let shaken = first(&all, |to| patiently(shake(to, name.clone()))).await;
        let (_, shown) = shaken.map_err(|(to, source)| TestError::Connect { to, source })?;
        Ok(shown.map_or(Introduction::Vouched, Introduction::Stranger))
    })
}

/// What a server shows, if nobody vouches for it.
async fn shake(to: SocketAddr, name: ServerName<'static>) -> io::Result<Option<Fingerprint>> {
    let seen = Arc::new(Mutex::new(None));
    let config = recording(&seen).map_err(io::Error::other)?;
    let stream = TcpStream::connect(to).await?;
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(name, stream).await?;
    // The server need not count a connection that failed. Whether it hears so changes nothing of what it showed.
    let _ = stream.shutdown().await;
    Ok(*lock(&seen))
}
