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
