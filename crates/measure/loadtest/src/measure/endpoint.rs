//! Whether load may go where a server says it is to go.
//!
//! A description may name a `test_endpoint`: another address that carries the load, with the same URLs and the same certificate
//! (draft-ietf-ippm-responsiveness-09, 5). Whoever serves a description could have all its clients load somebody else so. So
//! such an address is taken only where TLS will prove that it serves the same name, and not nearer to this host than the server.

use crate::options::Trust;
use crate::target::Origin;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Ports of HTTP: beside these a server may name its own alone.
const PORTS: [u16; 2] = [80, 443];

/// How far an address reaches, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Host,
    Link,
    Site,
    World,
}

/// Why `named` may not carry the load of a test of the server at `asked`, if it may not. One that may has yet to be believed by its
/// certificate before anything but a handshake is sent there.
pub(super) fn refusal(
    (origin, asked): (&Origin, SocketAddr),
    named: SocketAddr,
    trust: &Trust,
) -> Option<&'static str> {
    if named.ip().to_canonical() == asked.ip().to_canonical() {
        None
    } else if !origin.is_tls {
        Some("without TLS nothing proves that it belongs to the same service")
    } else if trust.is_blind {
        Some("with --insecure nothing proves that it belongs to the same service; use --pin")
    } else if is_many(named.ip()) {
        Some("it is a multicast or broadcast address")
    } else if reach(named.ip()) < reach(asked.ip()) {
        Some("it is in a network nearer to this host than the server")
    } else if !PORTS.contains(&named.port()) && named.port() != origin.port {
        Some("its port is not 80, 443 or the server's")
    } else {
        None
    }
}

fn is_many(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST)
}

fn reach(address: IpAddr) -> Reach {
    match address.to_canonical() {
        IpAddr::V4(v4) => of_v4(v4),
        IpAddr::V6(v6) => of_v6(v6),
    }
}

fn of_v4(address: Ipv4Addr) -> Reach {
    // RFC 6598: between a customer and the provider's translator.
    let is_shared = address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64;
    if address.is_loopback() || address.octets()[0] == 0 {
        Reach::Host
    } else if address.is_link_local() {
        Reach::Link
    } else if address.is_private() || is_shared {
        Reach::Site
    } else {
        Reach::World
    }
}

fn of_v6(address: Ipv6Addr) -> Reach {
    if address.is_loopback() || address.is_unspecified() {
        Reach::Host
    } else if address.is_unicast_link_local() {
        Reach::Link
    } else if address.is_unique_local() {
        Reach::Site
    } else {
        Reach::World
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    fn told(target: &str, asked: &str, named: &str, trust: &Trust) -> Option<&'static str> {
        let Ok(Target::Responsiveness(origin)) = target.parse() else {
            panic!("{target} is such a server");
        };
        let asked = (&origin, asked.parse().unwrap());
        refusal(asked, named.parse().unwrap(), trust)
    }

    #[test]
    fn only_what_tls_can_prove_is_taken() {
        let told = |target: &str, trust: &Trust| told(target, "1.1.1.1:443", "9.9.9.9:443", trust);
        assert_eq!(told("https://h", &Trust::default()), None);
        assert!(told("http://h", &Trust::default()).is_some());
        let blind = Trust {
            is_blind: true,
            ..Trust::default()
        };
        assert!(told("https://h", &blind).is_some());
    }

    #[test]
    fn the_address_that_was_asked_needs_no_proof() {
        let told = |asked, named| told("http://h:8080", asked, named, &Trust::default());
        assert_eq!(told("127.0.0.1:8080", "127.0.0.1:9999"), None);
        assert_eq!(told("[::ffff:10.0.0.1]:8080", "10.0.0.1:8080"), None);
    }

    #[test]
    fn nothing_nearer_than_the_server_is_taken() {
        let told = |asked, named| told("https://h:4043", asked, named, &Trust::default());
        for named in [
            "127.0.0.1:443",
            "0.0.0.0:443",
            "[::1]:443",
            "[::ffff:127.0.0.1]:443",
            "169.254.169.254:80",
            "[fe80::1]:443",
            "10.0.0.1:443",
            "192.168.1.1:443",
            "172.16.0.1:443",
            "100.64.0.1:443",
            "[fd00::1]:443",
            "224.0.0.1:443",
            "255.255.255.255:443",
            "[ff02::1]:443",
        ] {
            assert!(told("1.1.1.1:4043", named).is_some(), "{named}");
        }
        assert_eq!(told("10.0.0.1:4043", "10.9.9.9:4043"), None);
        assert_eq!(told("127.0.0.1:4043", "127.0.0.77:4043"), None);
        assert!(told("10.0.0.1:4043", "127.0.0.1:4043").is_some());
    }

    #[test]
    fn ports_of_other_services_are_not_taken() {
        let told = |named| told("https://h:4043", "1.1.1.1:4043", named, &Trust::default());
        assert_eq!(told("9.9.9.9:4043"), None);
        assert_eq!(told("9.9.9.9:80"), None);
        assert!(told("9.9.9.9:25").is_some());
    }
}
