//! Network devices of this thread's namespace.

use crate::netlink::{Family, Netlink, attribute, text, u16_at, u32_at};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use std::io;
use std::net::IpAddr;

/// The index of the device of that name.
pub fn index(name: &str) -> io::Result<u32> {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    Ok(name_to_index(any, name)?)
}

/// A device, as far as it matters to whoever has one of its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    pub is_loopback: bool,
}

impl Device {
    /// The device that has this address.
    pub fn with_address(address: IpAddr) -> io::Result<Option<Device>> {
        const GET_ADDRESS: u16 = 22;
        /// `struct ifaddrmsg`.
        const ADDRESS: usize = 8;
        let netlink = Netlink::open(Family::Route)?;
        let mut index = None;
        netlink.list(GET_ADDRESS, &[0; ADDRESS], |answer| {
            if is_of(answer.get(ADDRESS..).unwrap_or_default(), address) {
                index = u32_at(answer, 4);
            }
        })?;
        match index {
            Some(index) => Device::of_index(&netlink, index),
            None => Ok(None),
        }
    }

    fn of_index(netlink: &Netlink, index: u32) -> io::Result<Option<Device>> {
        const NAME: u16 = 3;
        const LOOPBACK: u32 = 8;
        let mut device = None;
        netlink.get(GET_LINK, &link(index), |answer| {
            let flags = u32_at(answer, 8).unwrap_or(0);
            let name = attribute(answer.get(LINK..).unwrap_or_default(), NAME);
            device = name.map(|name| Device {
                name: text(name),
                is_loopback: flags & LOOPBACK != 0,
            });
        })?;
        Ok(device)
    }
}

/// Whether its queue counts Ethernet's header as part of each packet; that of a modem of raw IP, of PPP or of a tunnel does not.
pub fn is_ethernet(name: &str) -> io::Result<bool> {
    /// `ARPHRD_ETHER` and `ARPHRD_LOOPBACK`.
    const KINDS: [u16; 2] = [1, 772];
    let mut kind = None;
    let netlink = Netlink::open(Family::Route)?;
    netlink.get(GET_LINK, &link(index(name)?), |answer| {
        kind = u16_at(answer, 2);
    })?;
    Ok(kind.is_some_and(|kind| KINDS.contains(&kind)))
}

/// Whether it is a tunnel by which packets go over another device.
pub fn is_tunnel(name: &str) -> io::Result<bool> {
    const LINK_INFO: u16 = 18;
    const KIND: u16 = 1;
    const TUNNELS: [&str; 12] = [
        "tun",
        "wireguard",
        "ipip",
        "ip6tnl",
        "sit",
        "gre",
        "ip6gre",
        "gretap",
        "vti",
        "vti6",
        "xfrm",
        "vxlan",
    ];
    let mut is_tunnel = false;
    let netlink = Netlink::open(Family::Route)?;
    netlink.get(GET_LINK, &link(index(name)?), |answer| {
        let list = answer.get(LINK..).unwrap_or_default();
        let info = attribute(list, LINK_INFO).unwrap_or_default();
        is_tunnel = attribute(info, KIND).is_some_and(|kind| TUNNELS.contains(&&*text(kind)));
    })?;
    Ok(is_tunnel)
}

pub(crate) const GET_LINK: u16 = 18;
/// `struct ifinfomsg`.
pub(crate) const LINK: usize = 16;

/// One that names a device.
pub(crate) fn link(index: u32) -> [u8; LINK] {
    let mut body = [0; LINK];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body
}

/// Whether these attributes are of this address: of a device between two points `ADDRESS` is the other end's.
fn is_of(attributes: &[u8], address: IpAddr) -> bool {
    const ADDRESS: u16 = 1;
    const LOCAL: u16 = 2;
    let own = attribute(attributes, LOCAL).or_else(|| attribute(attributes, ADDRESS));
    match address {
        IpAddr::V4(address) => own == Some(&address.octets()),
        IpAddr::V6(address) => own == Some(&address.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::Attributes;

    #[test]
    fn loopback_is_there_and_others_are_not() {
        assert_eq!(index("lo").unwrap(), 1);
        assert!(is_ethernet("lo").unwrap());
        let absent = index("no-such-device").unwrap_err();
        assert_eq!(absent.raw_os_error(), Some(libc::ENODEV));
        assert!(index("a-name-that-is-longer-than-any").is_err());
    }

    #[test]
    fn an_address_leads_to_its_device() {
        let of = |address: &str| Device::with_address(address.parse().unwrap()).unwrap();
        let loopback = Device {
            name: "lo".to_owned(),
            is_loopback: true,
        };
        assert_eq!(of("127.0.0.1"), Some(loopback.clone()));
        assert_eq!(of("::1"), Some(loopback));
        assert_eq!(of("192.0.2.77"), None);
    }

    #[test]
    fn of_two_points_the_own_one_counts() {
        let own = [10, 0, 0, 1];
        let attributes = Attributes::new().bytes(1, &[10, 0, 0, 2]).bytes(2, &own);
        assert!(is_of(&attributes.to_bytes(), own.into()));
        assert!(!is_of(&attributes.to_bytes(), [10, 0, 0, 2].into()));
    }
}
