//! Who a server says it is, asked before anything but a handshake is sent there.

use crate::error::TestError;
use crate::options::IpVersion;
use crate::target::Origin;
use crate::tls::{Fingerprint, recording};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// For each address, and for the handshake.
const PATIENCE: Duration = Duration::from_secs(5);
/// Addresses that are tried.
const ADDRESSES: usize = 4;

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
    let seen = Arc::new(Mutex::new(None));
    let config = recording(&seen)?;
    let failed = |source| TestError::Name {
        host: origin.host.clone(),
        source,
    };
    let resolved = (origin.host.as_str(), origin.port).to_socket_addrs();
    let is_wanted = |address: &SocketAddr| match ip {
        Some(IpVersion::Four) => address.is_ipv4(),
        Some(IpVersion::Six) => address.is_ipv6(),
        None => true,
    };
    let addresses = resolved.map_err(failed)?.filter(is_wanted).take(ADDRESSES);
    let name = ServerName::try_from(origin.host.clone());
    let name = name.map_err(|error| failed(io::Error::other(error)))?;
    let mut last = TestError::NoAddress {
        host: origin.host.clone(),
    };
    for to in addresses {
        let session = ClientConnection::new(Arc::new(config.clone()), name.clone());
        let session = session.map_err(|error| TestError::Begin(io::Error::other(error)))?;
        match shake(session, to) {
            Ok(()) => {
                let shown = seen.lock().ok().and_then(|shown| *shown);
                return Ok(shown.map_or(Introduction::Vouched, Introduction::Stranger));
            }
            Err(source) => last = TestError::Connect { to, source },
        }
    }
    Err(last)
}

fn shake(mut session: ClientConnection, to: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    while session.is_handshaking() {
        session.complete_io(&mut stream)?;
    }
    // The server need not count a connection that failed. Whether it hears so changes nothing of what it showed.
    session.send_close_notify();
    let _ = session.write_tls(&mut stream);
    Ok(())
}
