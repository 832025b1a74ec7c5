//! Makes a server known on the networks of this host.

use crate::{FINGERPRINT, SERVICE};
use mdns_sd::{ServiceDaemon, ServiceInfo};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tracing::info;

/// How long a goodbye may take.
const FAREWELL: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    #[error(
        "a server on the loopback address {0} cannot be announced; give --listen another address"
    )]
    Loopback(IpAddr),
    #[error("cannot announce the server by multicast DNS: {0}")]
    Daemon(#[from] mdns_sd::Error),
}

/// A server that is known until this is dropped.
pub struct Announcement {
    daemon: ServiceDaemon,
    at: SocketAddr,
    name: String,
}

/// Announces a server that listens there, under this host's name. Its certificate has this SHA-256.
pub fn announce(at: SocketAddr, fingerprint: &str) -> Result<Announcement, AnnounceError> {
    if at.ip().is_loopback() {
        return Err(AnnounceError::Loopback(at.ip()));
    }
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let name = host.split('.').next().filter(|name| !name.is_empty());
    let announcement = Announcement {
        daemon: ServiceDaemon::new()?,
        at,
        name: name.unwrap_or("unbloat").to_owned(),
    };
    announcement.renew(fingerprint)?;
    Ok(announcement)
}

impl Announcement {
    /// The name that others find. Of two hosts with one name, the later one gets a number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Says that the certificate is another one.
    pub fn renew(&self, fingerprint: &str) -> Result<(), AnnounceError> {
        let service = format!("{}.", SERVICE.join("."));
        // `NAME.local` is the host's own responder's.
        let host = format!("{}-unbloat.local.", self.name);
        let text = [("txtvers", "1"), (FINGERPRINT, fingerprint)];
        let (ip, port) = (self.at.ip(), self.at.port());
        let all = if ip.is_unspecified() {
            String::new()
        } else {
            ip.to_string()
        };
        let info = ServiceInfo::new(&service, &self.name, &host, &all[..], port, &text[..])?;
        let info = match ip.is_unspecified() {
            true => info.enable_addr_auto(),
            false => info,
        };
        self.daemon.register(info)?;
        info!(name = self.name, port, "announced");
        Ok(())
    }
}

/// Says goodbye, so that nobody looks for the server any longer.
impl Drop for Announcement {
    fn drop(&mut self) {
        let full = format!("{}.{}.", self.name, SERVICE.join("."));
        if let Ok(gone) = self.daemon.unregister(&full) {
            let _ = gone.recv_timeout(FAREWELL);
        }
        if let Ok(ended) = self.daemon.shutdown() {
            let _ = ended.recv_timeout(FAREWELL);
        }
    }
}
