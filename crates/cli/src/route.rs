//! Finds the device that the kernel uses for an address: IPv4, IPv6, policy routing.

use rustix::net::AddressFamily;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use unbloat_os::netlink::{Attributes, Family, Netlink, attribute, text, u32_at};
use unbloat_sqm::{Device, DeviceError};

/// linux/rtnetlink.h, linux/if_link.h.
const RTM_GETLINK: u16 = 18;
const RTM_GETROUTE: u16 = 26;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const IFLA_IFNAME: u16 = 3;
/// Lengths of `struct rtmsg` and `struct ifinfomsg`, which precede the attributes.
const ROUTE_HEADER: usize = 12;
const LINK_HEADER: usize = 16;

/// Addresses for documentation, which only the default route matches.
const ANYWHERE: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
];

#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    #[error("no route to {address}: {source}; give --interface")]
    NoRoute { address: IpAddr, source: io::Error },
    #[error("no default route for IPv4 or IPv6; give --interface")]
    NoDefault,
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The device towards an address.
pub fn device_to(address: IpAddr) -> Result<Device, RouteError> {
    let name = look_up(address).map_err(|source| RouteError::NoRoute { address, source })?;
    Ok(name.parse()?)
}

/// The device of the default route.
pub fn outward() -> Result<Device, RouteError> {
    let mut found = ANYWHERE
        .into_iter()
        .filter_map(|address| look_up(address).ok());
    Ok(found.next().ok_or(RouteError::NoDefault)?.parse()?)
}

fn look_up(address: IpAddr) -> io::Result<String> {
    let netlink = Netlink::open(Family::Route)?;
    let mut index = None;
    netlink.get(RTM_GETROUTE, &route_request(address), |route| {
        let device = route
            .get(ROUTE_HEADER..)
            .and_then(|list| attribute(list, RTA_OIF));
        index = device.and_then(|device| u32_at(device, 0));
    })?;
    let index = index.ok_or(io::ErrorKind::NetworkUnreachable)?;
    let mut header = [0; LINK_HEADER];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut name = None;
    netlink.get(RTM_GETLINK, &header, |link| {
        name = link
            .get(LINK_HEADER..)
            .and_then(|list| attribute(list, IFLA_IFNAME))
            .map(text);
    })?;
    Ok(name.ok_or(io::ErrorKind::NotFound)?)
}

fn route_request(address: IpAddr) -> Vec<u8> {
    let (family, bytes) = match address {
        IpAddr::V4(address) => (AddressFamily::INET, address.octets().to_vec()),
        IpAddr::V6(address) => (AddressFamily::INET6, address.octets().to_vec()),
    };
    let mut message = [0; ROUTE_HEADER];
    message[0] = family.as_raw() as u8;
    message[1] = (8 * bytes.len()) as u8;
    let list = Attributes::new().bytes(RTA_DST, &bytes).to_bytes();
    [&message[..], &list].concat()
}
