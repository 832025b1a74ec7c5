//! Links, addresses, routes, neighbours and queue disciplines over a netlink socket.

use super::fault::{Doing, Fault, fault};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};
use unbloat_os::netlink::numbers;
use unbloat_os::netlink::{Ask, Attributes, Family, Netlink, attribute, u32_at};

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const TCMSG: usize = 20;
/// `TC_H_ROOT`.
pub(crate) const ROOT: u32 = u32::MAX;

/// A MAC address.
pub(crate) type Mac = [u8; 6];

/// A socket into the namespace in which it was opened.
pub(crate) struct Rtnetlink(Netlink);

impl Rtnetlink {
    pub(crate) fn open() -> Result<Rtnetlink, Fault> {
        let socket = Netlink::open(Family::Route);
        socket.map(Rtnetlink).doing(|| "opening netlink".to_owned())
    }

    /// A pair of Ethernet devices, the other one in the namespace `there`. Neither hands down more
    /// than one segment at a time.
    pub(crate) fn veth(
        &self,
        (name, mac): (&str, Mac),
        (peer_name, peer_mac): (&str, Mac),
        there: BorrowedFd<'_>,
    ) -> Result<(), Fault> {
        let end = |device, address: Mac| {
            let list = Attributes::new().text(IFLA_IFNAME, device);
            list.bytes(IFLA_ADDRESS, &address).u32(IFLA_GSO_MAX_SEGS, 1)
        };
        let peer = end(peer_name, peer_mac).u32(IFLA_NET_NS_FD, there.as_raw_fd() as u32);
        let mut peer_body = vec![0; 16];
        peer_body.extend_from_slice(&peer.to_bytes());
        let data = Attributes::new().bytes(VETH_INFO_PEER, &peer_body);
        let info = Attributes::new()
            .text(IFLA_INFO_KIND, "veth")
            .nested(IFLA_INFO_DATA, &data);
        let body = end(name, mac).nested(IFLA_LINKINFO, &info);
        self.change(numbers::RTM_NEWLINK, Ask::Create, &[0; 16], &body)
            .doing(|| format!("making {name}"))
    }

    pub(crate) fn up(&self, index: u32, is_up: bool) -> Result<(), Fault> {
        const UP: u32 = numbers::IFF_UP as u32;
        let words = [0, index, if is_up { UP } else { 0 }, UP];
        let link: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.change(numbers::RTM_NEWLINK, Ask::One, &link, &Attributes::new())
            .doing(|| format!("switching link {index}"))
    }

    /// `address`/24.
    pub(crate) fn address(&self, index: u32, address: Ipv4Addr) -> Result<(), Fault> {
        let mut body = vec![numbers::AF_INET as u8, 24, 0, 0];
        body.extend_from_slice(&index.to_ne_bytes());
        let list = Attributes::new()
            .bytes(1, &address.octets())
            .bytes(2, &address.octets());
        self.change(numbers::RTM_NEWADDR, Ask::Create, &body, &list)
            .doing(|| format!("setting address {address}"))
    }

    /// To `network`/24.
    pub(crate) fn route(&self, network: Ipv4Addr, gateway: Ipv4Addr) -> Result<(), Fault> {
        const BOOT: u8 = 3;
        const UNICAST: u8 = 1;
        let header = [
            numbers::AF_INET as u8,
            24,
            0,
            0,
            numbers::RT_TABLE_MAIN,
            BOOT,
            0,
            UNICAST,
            0,
            0,
            0,
            0,
        ];
        let list = Attributes::new()
            .bytes(1, &network.octets())
            .bytes(5, &gateway.octets());
        self.change(numbers::RTM_NEWROUTE, Ask::Create, &header, &list)
            .doing(|| format!("setting the route to {network}"))
    }

    /// A neighbour for good, so that no ARP disturbs the queues.
    pub(crate) fn neighbour(&self, index: u32, address: Ipv4Addr, mac: Mac) -> Result<(), Fault> {
        let mut body = vec![numbers::AF_INET as u8, 0, 0, 0];
        body.extend_from_slice(&index.to_ne_bytes());
        body.extend_from_slice(&numbers::NUD_PERMANENT.to_ne_bytes());
        body.extend_from_slice(&[0, 0]);
        let list = Attributes::new().bytes(1, &address.octets()).bytes(2, &mac);
        self.change(numbers::RTM_NEWNEIGH, Ask::Create, &body, &list)
            .doing(|| format!("setting the neighbour {address}"))
    }

    /// A discipline at `parent`; a size table may decide what it counts of a packet.
    pub(crate) fn qdisc(
        &self,
        index: u32,
        (parent, handle): (u32, u32),
        kind: &str,
        options: &[u8],
        size_table: Option<&[u8]>,
    ) -> Result<(), Fault> {
        let mut list = Attributes::new().text(numbers::TCA_KIND, kind);
        if !options.is_empty() {
            list = list.bytes(numbers::TCA_OPTIONS, options);
        }
        if let Some(table) = size_table {
            list = list.bytes(numbers::TCA_STAB, table);
        }
        self.change(
            numbers::RTM_NEWQDISC,
            Ask::Create,
            &traffic_control(index, parent, handle),
            &list,
        )
        .doing(|| format!("setting queue {kind}"))
    }

    pub(crate) fn class(
        &self,
        index: u32,
        (parent, id): (u32, u32),
        kind: &str,
        options: &[u8],
    ) -> Result<(), Fault> {
        let list = Attributes::new()
            .text(numbers::TCA_KIND, kind)
            .bytes(numbers::TCA_OPTIONS, options);
        self.change(
            numbers::RTM_NEWTCLASS,
            Ask::Create,
            &traffic_control(index, parent, id),
            &list,
        )
        .doing(|| format!("setting class of {kind}"))
    }

    /// The attributes of the discipline `handle` on the link.
    pub(crate) fn qdisc_attributes(&self, index: u32, handle: u32) -> Result<Vec<u8>, Fault> {
        let doing = || "reading the queue's statistics".to_owned();
        let mut found = None;
        let all = traffic_control(index, 0, 0);
        let listed = self.0.list(numbers::RTM_GETQDISC, &all, |body| {
            if u32_at(body, 4) == Some(index) && u32_at(body, 8) == Some(handle) {
                found = body.get(TCMSG..).map(<[u8]>::to_vec);
            }
        });
        listed.doing(doing)?;
        found.ok_or_else(|| fault(doing(), "it is not there"))
    }

    fn change(&self, kind: u16, ask: Ask, header: &[u8], list: &Attributes) -> io::Result<()> {
        let body = [header, &list.to_bytes()].concat();
        Ok(self.0.exchange(kind, ask, &body, |_| {})?)
    }
}

/// The value of an attribute of a discipline.
pub(crate) fn statistic(attributes: &[u8], path: [u16; 2]) -> Option<&[u8]> {
    attribute(attribute(attributes, path[0])?, path[1])
}

/// `struct tcmsg`.
fn traffic_control(index: u32, parent: u32, handle: u32) -> Vec<u8> {
    let words = [0, index, handle, parent, 0];
    words
        .iter()
        .flat_map(|word: &u32| word.to_ne_bytes())
        .collect()
}
