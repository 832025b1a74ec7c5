//! Netlink messages about devices, addresses, routes and neighbours.

use crate::netlink::{Answer, Netlink};
use ipnet::IpNet;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Stats64,
};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage as Message};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use unbloat_os::netlink::attribute;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// What a device has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// From the host into the device.
    pub sent_packets: u64,
    pub sent_bytes: u64,
    /// Packets of the host that the device did not take, such as those beyond its queue.
    pub sent_dropped: u64,
    pub received_packets: u64,
    pub received_bytes: u64,
    pub received_dropped: u64,
}

/// Locally administered, the same for the same name.
pub(crate) fn mac(host: &str, device: &str) -> Mac {
    // FNV-1a.
    let hash = host
        .bytes()
        .chain([0])
        .chain(device.bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let [a, b, c, d, e, ..] = hash.to_le_bytes();
    [2, a, b, c, d, e]
}

/// The index and the counters of the device of that name.
pub(crate) fn find(netlink: &Netlink, name: &str) -> Option<(u32, Counters)> {
    let answers = netlink.ask(by_name(name)).ok()?;
    answers.iter().find_map(read)
}

/// Whether its packets have Ethernet headers.
pub(crate) fn is_ethernet(netlink: &Netlink, name: &str) -> bool {
    /// ARPHRD_ETHER, the type in `struct ifinfomsg`.
    const ETHERNET: u16 = 1;
    let answers = netlink.ask(by_name(name)).unwrap_or_default();
    let kinds = answers.iter().filter_map(|answer| answer.0.get(2..4));
    kinds.into_iter().any(|kind| kind == ETHERNET.to_ne_bytes())
}

/// Asks for the device of that name.
fn by_name(name: &str) -> Message {
    let mut message = LinkMessage::default();
    message
        .attributes
        .push(LinkAttribute::IfName(name.to_owned()));
    Message::GetLink(message)
}

/// The index and the counters that an answer holds.
fn read(answer: &Answer) -> Option<(u32, Counters)> {
    /// `struct ifinfomsg`, and where the index stands in it.
    const FIXED: usize = 16;
    const INDEX: usize = 4;
    const IFLA_STATS64: u16 = 23;
    let index = answer.word(INDEX)?;
    let stats = attribute(answer.attributes(FIXED), IFLA_STATS64);
    let stats = stats.and_then(|bytes| Stats64::parse(bytes).ok());
    let counters = stats.map(|stats| Counters {
        sent_packets: stats.tx_packets,
        sent_bytes: stats.tx_bytes,
        sent_dropped: stats.tx_dropped,
        received_packets: stats.rx_packets,
        received_bytes: stats.rx_bytes,
        received_dropped: stats.rx_dropped,
    });
    Some((index, counters.unwrap_or_default()))
}

/// A pair of Ethernet devices, the other one in the namespace `there`.
pub(crate) fn veth(name: &str, own: Mac, peer: &str, its: Mac, there: BorrowedFd<'_>) -> Message {
    let end = |device: &str, mac: Mac| {
        let mut end = LinkMessage::default();
        end.attributes
            .push(LinkAttribute::IfName(device.to_owned()));
        end.attributes.push(LinkAttribute::Address(mac.to_vec()));
        end
    };
    let mut other = end(peer, its);
    let namespace = LinkAttribute::NetNsFd(there.as_raw_fd());
    other.attributes.push(namespace);
    let mut message = end(name, own);
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
    ]));
    Message::NewLink(message)
}

/// Switches a device on or off.
pub(crate) fn switch(index: u32, is_up: bool) -> Message {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.change_mask = LinkFlags::Up;
    if is_up {
        message.header.flags = LinkFlags::Up;
    }
    Message::NewLink(message)
}

pub(crate) fn change(index: u32, attributes: Vec<LinkAttribute>) -> Message {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes = attributes;
    Message::NewLink(message)
}

pub(crate) fn address(index: u32, net: IpNet) -> Message {
    let mut message = AddressMessage::default();
    message.header.family = family(net.addr());
    message.header.prefix_len = net.prefix_len();
    message.header.index = index;
    message.attributes = vec![
        AddressAttribute::Local(net.addr()),
        AddressAttribute::Address(net.addr()),
    ];
    Message::NewAddress(message)
}

/// A route through a device, or by a gateway.
pub(crate) fn route(to: IpNet, device: Option<u32>, gateway: Option<IpAddr>) -> Message {
    let mut message = RouteMessage::default();
    let header = &mut message.header;
    header.address_family = family(to.addr());
    header.destination_prefix_length = to.prefix_len();
    header.table = RouteHeader::RT_TABLE_MAIN;
    header.protocol = RouteProtocol::Boot;
    header.kind = RouteType::Unicast;
    header.scope = match gateway {
        Some(_) => RouteScope::Universe,
        None => RouteScope::Link,
    };
    let to = RouteAttribute::Destination(RouteAddress::from(to.network()));
    message.attributes = vec![to];
    message.attributes.extend(device.map(RouteAttribute::Oif));
    let gateway = gateway.map(|g| RouteAttribute::Gateway(g.into()));
    message.attributes.extend(gateway);
    Message::NewRoute(message)
}

/// A neighbour for good, so that no address resolution disturbs the queues.
pub(crate) fn neighbour(index: u32, address: IpAddr, mac: Mac) -> Message {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = index;
    message.header.state = NeighbourState::Permanent;
    message.header.kind = RouteType::Unspec;
    message.attributes = vec![
        NeighbourAttribute::Destination(address.into()),
        NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
    ];
    Message::NewNeighbour(message)
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
