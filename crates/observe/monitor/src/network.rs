//! Networks of peers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network of an address, as text: /24 of IPv4, /48 of IPv6.
pub fn network_of(address: &str) -> Option<String> {
    let address: IpAddr = address.parse().ok()?;
    Some(match address.to_canonical() {
        IpAddr::V4(v4) => {
            let net = Ipv4Addr::from(u32::from(v4) & (u32::MAX << 8));
            format!("{net}/24")
        }
        IpAddr::V6(v6) => {
            let net = Ipv6Addr::from(u128::from(v6) & (u128::MAX << 80));
            format!("{net}/48")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_fall_into_networks() {
        let net = |text| network_of(text);
        assert_eq!(net("192.0.2.77").as_deref(), Some("192.0.2.0/24"));
        assert_eq!(net("2001:db8:1:2::9").as_deref(), Some("2001:db8:1::/48"));
        assert_eq!(net("::ffff:192.0.2.1").as_deref(), Some("192.0.2.0/24"));
        assert_eq!(net("example.net"), None);
    }
}
