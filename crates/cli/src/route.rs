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

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_netns::{Bed, BedError, Route};

    #[test]
    fn loopback_is_found_by_both_versions_of_ip() {
        for address in [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ] {
            match device_to(address) {
                Ok(device) => assert_eq!(device.as_str(), "lo"),
                // A host without that version.
                Err(RouteError::NoRoute { .. }) => assert!(address.is_ipv6()),
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[test]
    fn policy_routing_and_ipv6_are_followed_and_no_route_is_told() {
        let bed = Bed::new().unwrap();
        let [host, near, far] = match bed.host("host") {
            Err(BedError::NoPrivilege) => return unbloat_testkit::skip("no root: a bed"),
            host => [
                host.unwrap(),
                bed.host("near").unwrap(),
                bed.host("far").unwrap(),
            ],
        };
        host.veth("near0", &near, "eth0").unwrap();
        host.veth("far0", &far, "eth0").unwrap();
        host.address("near0", "10.9.1.1/24".parse().unwrap())
            .unwrap();
        host.address("far0", "10.9.2.1/24".parse().unwrap())
            .unwrap();
        let to = |address: &str| {
            let address = address.parse().unwrap();
            host.within(|| device_to(address).map(|device| device.to_string()))
                .unwrap()
        };
        assert!(matches!(
            host.within(outward).unwrap(),
            Err(RouteError::NoDefault)
        ));
        host.route(
            "0.0.0.0/0".parse().unwrap(),
            Route::Gateway([10, 9, 1, 2].into()),
        )
        .unwrap();
        assert_eq!(to("203.0.113.1").unwrap(), "near0");
        assert_eq!(host.within(outward).unwrap().unwrap().as_str(), "near0");
        // Hosts of a bed have no IPv6 unless they are asked for it.
        let on = "echo 0 > /proc/sys/net/ipv6/conf/far0/disable_ipv6";
        let asked = host.command("sh").unwrap().args(["-c", on]).status();
        assert!(asked.unwrap().success(), "{on}");
        for words in [
            "rule add to 203.0.113.0/24 table 77",
            "route add default via 10.9.2.2 table 77",
            "-6 addr add fd00:9::1/64 dev far0 nodad",
            "-6 route add 2001:db8::/32 via fd00:9::2",
        ] {
            let done = host.command("ip").unwrap().args(words.split(' ')).status();
            assert!(done.unwrap().success(), "{words}");
        }
        assert_eq!(to("203.0.113.1").unwrap(), "far0");
        assert_eq!(to("198.51.100.1").unwrap(), "near0");
        assert_eq!(to("2001:db8::7").unwrap(), "far0");
        let none = to("2001:beef::1").unwrap_err().to_string();
        assert!(none.contains("no route to 2001:beef::1"), "{none}");
    }
}
