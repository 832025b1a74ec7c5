//! Makes a server known on the networks of this host.

use crate::own::{has_public_address, is_public, own_addresses};
use crate::{FINGERPRINT, SERVICE};
use mdns_sd::{IfKind, IfPredicate, ServiceDaemon, ServiceInfo};
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
    #[error(
        "a server that has public addresses alone cannot be announced: it would answer questions of strangers from anywhere; tell its address to those who need it"
    )]
    Public,
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
    let reached = match at.ip().is_unspecified() {
        true => own_addresses(),
        false => vec![at.ip()],
    };
    if !reached.is_empty() && reached.iter().all(is_public) {
        return Err(AnnounceError::Public);
    }
    let daemon = ServiceDaemon::new()?;
    // The library answers by unicast whoever asks, from beyond the link, too.
    let is_exposed = |one: &if_addrs::Interface| has_public_address(&one.name, one.ip().is_ipv6());
    daemon.disable_interface(IfKind::Predicate(IfPredicate::new(is_exposed)))?;
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let name = host.split('.').next().filter(|name| !name.is_empty());
    let announcement = Announcement {
        daemon,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_for_the_whole_internet_is_not_announced() {
        for at in ["8.8.8.8:4043", "100.64.0.1:4043", "[2606:4700::1111]:4043"] {
            let refused = announce(at.parse().unwrap(), "aa");
            assert!(matches!(refused, Err(AnnounceError::Public)), "{at}");
        }
    }
}
