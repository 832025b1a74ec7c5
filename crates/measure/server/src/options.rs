//! Where to listen, as whom, and what strangers may have.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use unbloat_params::defaults;
use unbloat_units::{Bytes, Delta, Rate};

/// The number of bytes of a large answer: what the draft asks for ("at least 8 GB") and Apple's and others' servers
/// send.
pub const LARGE: u64 = 8 << 30;

/// How the server proves who it is.
#[derive(Clone, Debug)]
pub enum Certificate {
    /// Made at the start and signed by itself, for `localhost`, the addresses it listens on and these names.
    Made { names: Vec<String> },
    /// That of this file, in PEM, chain and key; made as [`Certificate::Made`] and written there if there is none with these
    /// names.
    Kept { file: PathBuf, names: Vec<String> },
    /// Chain and key in PEM.
    Given { chain: Vec<u8>, key: Vec<u8> },
}

/// Those of `docs/protocol.md`: TCP with TLS and QUIC; irtt.
pub const PORT: u16 = 4043;
pub const ECHO_PORT: u16 = 2112;

/// A port of all addresses: by IPv6, which takes IPv4 along, or on a host without IPv6 by IPv4 alone.
pub fn everywhere(port: u16) -> SocketAddr {
    any(port, |address| UdpSocket::bind(address).is_ok())
}

fn any(port: u16, can_bind: impl FnOnce(SocketAddr) -> bool) -> SocketAddr {
    let unspecified = Ipv6Addr::UNSPECIFIED;
    match can_bind((unspecified, 0).into()) {
        true => (unspecified, port).into(),
        false => (Ipv4Addr::UNSPECIFIED, port).into(),
    }
}

defaults! {
    /// On all addresses, at the ports that `docs/protocol.md` names.
    #[derive(Clone, Debug)]
    pub struct Options {
        /// TCP with TLS, and QUIC at the same port of UDP. Port 0: one that is free for both.
        pub listen: SocketAddr = everywhere(PORT);
        /// HTTP without TLS, for test beds.
        pub plain: Option<SocketAddr> = None;
        /// irtt.
        pub echo: Option<SocketAddr> = Some(everywhere(ECHO_PORT));
        pub certificate: Certificate = Certificate::Made { names: Vec::new() };
        /// Who may use it; everybody if there are none.
        pub tokens: Vec<String> = Vec::new();
        /// Congestion controls that clients may ask for, beside those that the kernel allows to everybody.
        pub congestion_controls: Vec<String> = Vec::new();
        pub limits: Limits = Limits::default();
        /// Threads that serve, beside that of the echo.
        pub threads: usize = std::thread::available_parallelism().map_or(1, usize::from);
    }
}

impl Options {
    /// On the loopback device, at ports that are free: for tests.
    pub fn loopback() -> Options {
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Options {
            listen: free,
            plain: Some(free),
            echo: Some(free),
            threads: 1,
            ..Options::default()
        }
    }
}

defaults! {
    /// What strangers may have. An address is an IPv4 address or the first 64 bits of an IPv6 address.
    #[derive(Clone, Debug)]
    pub struct Limits {
        /// At a time; an eighth from one network (a /24 of IPv4, a /48 of IPv6). Beyond, the address that has most gives way.
        pub connections: usize = 8192;
        /// A probe of the draft is a connection, there are up to 100 a second, and some clients leave them open: beyond this
        /// the longest idle gives way, and 10 s of probes stay.
        pub connections_per_address: usize = 1024;
        pub sessions: usize = 1000;
        pub sessions_per_address: usize = 32;
        /// Under way and ended within ten seconds.
        pub flows_per_session: usize = 256;
        /// How long a session lives that nothing uses.
        pub session_idle: Delta = Delta::secs(120);
        /// How long it lives at most.
        pub session_time: Delta = Delta::secs(3600);
        /// How long a download or upload may take.
        pub transfer_time: Delta = Delta::secs(60);
        /// How much an upload may bring.
        pub transfer_bytes: Bytes = Bytes::new(LARGE);
        /// How long a connection may be without a request.
        pub idle: Delta = Delta::secs(30);
        /// How long TLS and a request's header may take.
        pub header_time: Delta = Delta::secs(10);
        /// Of all clients together, each way.
        pub rate: Option<Rate> = None;
        /// Of this process; beyond it no more connections and sessions, and those are ended that hold most.
        pub memory: Bytes = Bytes::mib(1024);
        /// Clients of the echo at a time.
        pub echo_clients: usize = 1000;
    }
}

/// As the standard library has spans; a negative one is none.
pub fn duration(span: Delta) -> std::time::Duration {
    std::time::Duration::from_nanos(u64::try_from(span.as_ns()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_ipv6_listens_by_ipv4() {
        assert_eq!(any(7, |_| true), "[::]:7".parse().unwrap());
        assert_eq!(any(7, |_| false), "0.0.0.0:7".parse().unwrap());
    }
}
