//! Whose packets.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// A protocol over IP, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(u8);

impl Protocol {
    pub const TCP: Protocol = Protocol(6);
    pub const UDP: Protocol = Protocol(17);

    pub const fn new(number: u8) -> Protocol {
        Protocol(number)
    }

    pub const fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("icmp"),
            6 => f.write_str("tcp"),
            17 => f.write_str("udp"),
            58 => f.write_str("icmpv6"),
            number => write!(f, "ip-{number}"),
        }
    }
}

/// Packets of one protocol from here to there. Without ports where the protocol has none, and for fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    pub protocol: Protocol,
    pub from: SocketAddr,
    pub to: SocketAddr,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} > {}", self.protocol, self.from, self.to)
    }
}

/// Which flows are wanted: those for which all that is given holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// One of its addresses.
    pub address: Option<IpAddr>,
    /// One of its ports.
    pub port: Option<u16>,
    /// The device by which it leaves.
    pub interface: Option<String>,
}

impl Filter {
    /// Whether the flow is wanted, wherever it leaves.
    pub fn takes(&self, flow: &Flow) -> bool {
        let ends = [flow.from, flow.to];
        self.address
            .is_none_or(|address| ends.iter().any(|end| end.ip() == address))
            && self
                .port
                .is_none_or(|port| ends.iter().any(|end| end.port() == port))
    }

    pub fn takes_interface(&self, name: &str) -> bool {
        self.interface.as_ref().is_none_or(|wanted| wanted == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_takes_what_all_of_it_fits() {
        let flow = Flow {
            protocol: Protocol::TCP,
            from: "10.0.0.1:5000".parse().unwrap(),
            to: "10.0.0.2:443".parse().unwrap(),
        };
        assert_eq!(flow.to_string(), "tcp 10.0.0.1:5000 > 10.0.0.2:443");
        let filter = |address: Option<&str>, port| Filter {
            address: address.map(|address| address.parse().unwrap()),
            port,
            interface: None,
        };
        assert!(filter(None, None).takes(&flow));
        assert!(filter(Some("10.0.0.2"), Some(5000)).takes(&flow));
        assert!(!filter(Some("10.0.0.2"), Some(80)).takes(&flow));
        assert!(!filter(Some("10.0.0.3"), Some(443)).takes(&flow));
    }
}
