//! Links, addresses, routes, neighbours and queue disciplines over a netlink socket.

use super::fault::{Doing, Fault, fault};
use nix::sys::socket::{self, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use unbloat_netlink::{Attributes, attribute};

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const NLMSG_HEADER: usize = 16;
const TCMSG: usize = 20;
/// `TC_H_ROOT`.
pub(crate) const ROOT: u32 = u32::MAX;

/// A MAC address.
pub(crate) type Mac = [u8; 6];

/// A socket into the namespace in which it was opened.
pub(crate) struct Rtnetlink {
    fd: OwnedFd,
}

impl Rtnetlink {
    pub(crate) fn open() -> Result<Rtnetlink, Fault> {
        let fd = socket::socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        );
        let fd = fd.doing(|| "opening netlink".to_owned())?;
        Ok(Rtnetlink { fd })
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
        self.change(libc::RTM_NEWLINK, true, &[0; 16], &body)
            .doing(|| format!("making {name}"))
    }

    pub(crate) fn up(&self, index: u32, is_up: bool) -> Result<(), Fault> {
        const UP: u32 = libc::IFF_UP as u32;
        let words = [0, index, if is_up { UP } else { 0 }, UP];
        let link: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.change(libc::RTM_NEWLINK, false, &link, &Attributes::new())
            .doing(|| format!("switching link {index}"))
    }

    /// `address`/24.
    pub(crate) fn address(&self, index: u32, address: Ipv4Addr) -> Result<(), Fault> {
        let mut body = vec![libc::AF_INET as u8, 24, 0, 0];
        body.extend_from_slice(&index.to_ne_bytes());
        let list = Attributes::new()
            .bytes(1, &address.octets())
            .bytes(2, &address.octets());
        self.change(libc::RTM_NEWADDR, true, &body, &list)
            .doing(|| format!("setting address {address}"))
    }

    /// To `network`/24.
    pub(crate) fn route(&self, network: Ipv4Addr, gateway: Ipv4Addr) -> Result<(), Fault> {
        const BOOT: u8 = 3;
        const UNICAST: u8 = 1;
        let header = [
            libc::AF_INET as u8,
            24,
            0,
            0,
            libc::RT_TABLE_MAIN,
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
        self.change(libc::RTM_NEWROUTE, true, &header, &list)
            .doing(|| format!("setting the route to {network}"))
    }

    /// A neighbour for good, so that no ARP disturbs the queues.
    pub(crate) fn neighbour(&self, index: u32, address: Ipv4Addr, mac: Mac) -> Result<(), Fault> {
        let mut body = vec![libc::AF_INET as u8, 0, 0, 0];
        body.extend_from_slice(&index.to_ne_bytes());
        body.extend_from_slice(&libc::NUD_PERMANENT.to_ne_bytes());
        body.extend_from_slice(&[0, 0]);
        let list = Attributes::new().bytes(1, &address.octets()).bytes(2, &mac);
        self.change(libc::RTM_NEWNEIGH, true, &body, &list)
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
        let mut list = Attributes::new().text(libc::TCA_KIND, kind);
        if !options.is_empty() {
            list = list.bytes(libc::TCA_OPTIONS, options);
        }
        if let Some(table) = size_table {
            list = list.bytes(libc::TCA_STAB, table);
        }
        self.change(
            libc::RTM_NEWQDISC,
            true,
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
            .text(libc::TCA_KIND, kind)
            .bytes(libc::TCA_OPTIONS, options);
        self.change(
            libc::RTM_NEWTCLASS,
            true,
            &traffic_control(index, parent, id),
            &list,
        )
        .doing(|| format!("setting class of {kind}"))
    }

    /// The attributes of the discipline `handle` on the link.
    pub(crate) fn qdisc_attributes(&self, index: u32, handle: u32) -> Result<Vec<u8>, Fault> {
        let doing = || "reading the queue's statistics".to_owned();
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;
        let request = message(
            libc::RTM_GETQDISC,
            flags,
            &traffic_control(index, 0, 0),
            &[],
        );
        self.send(&request).doing(doing)?;
        let mut found = None;
        loop {
            let reply = self.receive().doing(doing)?;
            for (kind, body) in messages(&reply) {
                if kind == libc::NLMSG_DONE as u16 {
                    return found.ok_or_else(|| fault(doing(), "it is not there"));
                }
                let word = |at: usize| {
                    body.get(at..at + 4)
                        .map(|b| u32::from_ne_bytes(b.try_into().expect("four bytes")))
                };
                if word(4) == Some(index) && word(8) == Some(handle) {
                    found = body.get(TCMSG..).map(<[u8]>::to_vec);
                }
            }
        }
    }

    fn change(&self, kind: u16, create: bool, header: &[u8], list: &Attributes) -> io::Result<()> {
        let create = if create {
            libc::NLM_F_CREATE | libc::NLM_F_EXCL
        } else {
            0
        };
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | create;
        self.send(&message(kind, flags, header, &list.to_bytes()))?;
        let reply = self.receive()?;
        let error = messages(&reply).find(|message| message.0 == libc::NLMSG_ERROR as u16);
        let code =
            error.and_then(|(_, body)| Some(i32::from_ne_bytes(body.get(..4)?.try_into().ok()?)));
        match code {
            Some(0) => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(-code)),
            None => Err(io::Error::other("netlink did not answer")),
        }
    }

    fn send(&self, request: &[u8]) -> io::Result<()> {
        socket::send(self.fd.as_raw_fd(), request, MsgFlags::empty())?;
        Ok(())
    }

    fn receive(&self) -> io::Result<Vec<u8>> {
        let mut reply = vec![0; 32768];
        let length = socket::recv(self.fd.as_raw_fd(), &mut reply, MsgFlags::empty())?;
        reply.truncate(length);
        Ok(reply)
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

fn message(kind: u16, flags: i32, header: &[u8], list: &[u8]) -> Vec<u8> {
    let length = (NLMSG_HEADER + header.len() + list.len()) as u32;
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(&(flags as u16).to_ne_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(header);
    bytes.extend_from_slice(list);
    bytes
}

/// Type and body of each message.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
        let body = bytes.get(NLMSG_HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}
