//! What the kernel tells of sockets: `sock_diag` (linux/inet_diag.h).

use crate::flow::{Flow, Protocol};
use rustix::net::AddressFamily;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use unbloat_os::netlink::{Family, Netlink, attribute, u16_at, u32_at};
use unbloat_os::tcp_info::TcpInfo;
use unbloat_units::{Bytes, Delta, Rate};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INFO: u16 = 2;
const MEMORY: u16 = 7;
/// Connections that can send: neither listening nor only waiting for their port to be free again.
const OPEN: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// `struct inet_diag_msg`.
const FIXED: usize = 72;

/// What the kernel says of one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SocketState {
    pub(crate) flow: Flow,
    pub(crate) inode: u32,
    /// Bytes of memory of packets that were handed down and that the driver has not let go of.
    pub(crate) below: Bytes,
    pub(crate) tcp: Option<TcpState>,
}

/// The part of [`TcpInfo`] that is of use here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpState {
    /// Written by the application, not yet acknowledged.
    pub(crate) queued: Bytes,
    pub(crate) unsent: Bytes,
    pub(crate) in_flight: Bytes,
    pub(crate) cwnd: Bytes,
    pub(crate) rtt: Option<Delta>,
    pub(crate) min_rtt: Option<Delta>,
    pub(crate) delivery_rate: Option<Rate>,
    pub(crate) sent: Bytes,
    pub(crate) acknowledged: Bytes,
    pub(crate) retransmissions: u64,
}

impl TcpState {
    /// All that the application has written.
    pub(crate) fn written(&self) -> Bytes {
        Bytes::new(
            self.acknowledged
                .as_u64()
                .saturating_add(self.queued.as_u64()),
        )
    }
}

pub(crate) struct Sockets(Netlink);

impl Sockets {
    pub(crate) fn open() -> io::Result<Sockets> {
        Netlink::open(Family::SockDiag).map(Sockets)
    }

    /// Tells of all TCP connections and UDP sockets.
    pub(crate) fn each(&self, mut tell: impl FnMut(SocketState)) -> io::Result<()> {
        for (protocol, states) in [(Protocol::TCP, OPEN), (Protocol::UDP, u32::MAX)] {
            for family in [AddressFamily::INET, AddressFamily::INET6] {
                let body = request(family.as_raw() as u8, protocol, states);
                let listed = self.0.list(SOCK_DIAG_BY_FAMILY, &body, |answer| {
                    if let Some(state) = parse(answer, protocol) {
                        tell(state);
                    }
                });
                match listed {
                    // A kernel without IPv6, or without sock_diag of UDP.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    listed => listed?,
                }
            }
        }
        Ok(())
    }
}

fn request(family: u8, protocol: Protocol, states: u32) -> Vec<u8> {
    let wanted = 1 << (INFO - 1) | 1 << (MEMORY - 1);
    let mut body = vec![family, protocol.number(), wanted, 0];
    body.extend(states.to_ne_bytes());
    body.extend([0; 48]);
    body
}

pub(crate) fn parse(answer: &[u8], protocol: Protocol) -> Option<SocketState> {
    let family = AddressFamily::from_raw((*answer.first()?).into());
    let end = |port_at, address_at| {
        let port = u16::from_be(u16_at(answer, port_at)?);
        let address = address(family, answer.get(address_at..address_at + 16)?)?;
        Some(SocketAddr::new(address, port))
    };
    let attributes = answer.get(FIXED..)?;
    let memory = attribute(attributes, MEMORY).and_then(|memory| u32_at(memory, 8));
    let queued = u32_at(answer, 60)?;
    Some(SocketState {
        flow: Flow {
            protocol,
            from: end(4, 8)?,
            to: end(6, 24)?,
        },
        inode: u32_at(answer, 68)?,
        below: Bytes::new(memory.unwrap_or(0).into()),
        tcp: attribute(attributes, INFO).and_then(|info| parse_tcp(info, queued)),
    })
}

fn address(family: AddressFamily, bytes: &[u8]) -> Option<IpAddr> {
    Some(match family {
        AddressFamily::INET => Ipv4Addr::from(<[u8; 4]>::try_from(&bytes[..4]).ok()?).into(),
        // Sockets of IPv6 speak IPv4 too.
        AddressFamily::INET6 => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical(),
        _ => return None,
    })
}

fn parse_tcp(info: &[u8], queued: u32) -> Option<TcpState> {
    let info = TcpInfo::read(info)?;
    let is_known = |span: &Delta| *span > Delta::ZERO;
    Some(TcpState {
        queued: Bytes::new(queued.into()),
        unsent: info.unsent(),
        in_flight: info.unacked(),
        cwnd: info.cwnd(),
        rtt: Some(info.rtt()).filter(is_known),
        min_rtt: info.min_rtt().filter(is_known),
        delivery_rate: info.delivery_rate(),
        sent: info.sent(),
        acknowledged: info.acked(),
        retransmissions: info.retransmissions(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    /// A connection over loopback whose reader does not read.
    fn stalled(address: &str) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        sender.set_nonblocking(true).unwrap();
        while sender.write(&[7; 65_536]).is_ok() {}
        (sender, receiver)
    }

    #[test]
    fn what_an_application_has_written_waits_in_its_socket() {
        for address in ["127.0.0.1", "::1"] {
            let (sender, _receiver) = stalled(address);
            let here = (sender.local_addr().unwrap(), sender.peer_addr().unwrap());
            let mut found = None;
            let sockets = Sockets::open().unwrap();
            let tell = |state: SocketState| {
                if (state.flow.from, state.flow.to) == here {
                    found = Some(state);
                }
            };
            sockets.each(tell).unwrap();
            let state = found.expect("the kernel tells of it");
            let tcp = state.tcp.expect("it is TCP");
            assert!(tcp.unsent.as_u64() > 0, "{state:?}");
            assert!(tcp.queued >= tcp.unsent, "{state:?}");
            assert!(tcp.written() >= tcp.acknowledged);
            assert!(state.inode > 0);
        }
    }

    #[test]
    fn answers_that_are_cut_say_nothing() {
        for length in 0..FIXED {
            assert_eq!(parse(&vec![2; length], Protocol::TCP), None, "{length}");
        }
    }
}
