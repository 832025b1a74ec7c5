//! Where others reach this host.

use if_addrs::{Interface, get_if_addrs};
use std::net::IpAddr;

/// Addresses of this host that its networks can reach, IPv4 first; none if they cannot be listed.
pub fn own_addresses() -> Vec<IpAddr> {
    let is_reached = |interface: &Interface| {
        interface.is_oper_up() && !interface.is_loopback() && !interface.is_link_local()
    };
    let all = get_if_addrs().unwrap_or_default();
    let mut reached: Vec<IpAddr> = all
        .iter()
        .filter(|interface| is_reached(interface))
        .map(Interface::ip)
        .collect();
    reached.sort_by_key(IpAddr::is_ipv6);
    reached
}

/// Whether strangers may reach it from anywhere: it is none of a home or an office, or of a link.
#[cfg(feature = "announce")]
pub fn is_public(address: &IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => !(ip.is_private() || ip.is_link_local() || ip.is_loopback()),
        IpAddr::V6(ip) => !(ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_loopback()),
    }
}

/// Whether an interface can be reached from anywhere by one version of IP.
#[cfg(feature = "announce")]
pub fn has_public_address(name: &str, is_ipv6: bool) -> bool {
    let all = get_if_addrs().unwrap_or_default();
    let mut own = all.iter().filter(|interface| interface.name == name);
    own.any(|interface| interface.ip().is_ipv6() == is_ipv6 && is_public(&interface.ip()))
}
