//! Answers irtt on a thread of its own, so that no load delays it, with the kernel's times of arrival.

use crate::options::Limits;
use crate::shared::Shared;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
    sockopt,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::Duration;
use unbloat_echo::wire::Key;
use unbloat_echo::{Answer, Clocks, Server};
use unbloat_traffic::monotonic;
use unbloat_units::{Delta, Time};

/// Packets that wait while this thread does not run: half a second of 1,000 clients.
const WAITING: usize = 4 << 20;

/// More than the longest request; what is longer is cut, and refused for its length.
const ROOM: usize = 2048;

/// How often it looks whether it is to stop.
const LOOKS: Duration = Duration::from_millis(100);

/// Runs before threads that carry load, where this is allowed.
const NICE: i32 = -10;

pub fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    socket.set_recv_buffer_size(WAITING)?;
    socket.set_read_timeout(Some(LOOKS))?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    // Answers come from the address that was asked, of several that this host may have.
    if address.is_ipv4() {
        setsockopt(&socket, sockopt::Ipv4PacketInfo, &true)?;
    } else {
        setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket.into())
}

pub fn server(limits: &Limits, tokens: &[String]) -> Server {
    let keys = tokens.iter().map(|token| Key::new(token.as_bytes()));
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).expect("Linux has random numbers");
    let limits = unbloat_echo::Limits {
        clients: limits.echo_clients,
        clients_per_host: limits.sessions_per_address,
        ..unbloat_echo::Limits::default()
    };
    Server::new(limits, keys.collect(), secret)
}

/// Answers until `stops` says so.
pub fn run(socket: &UdpSocket, mut server: Server, shared: &Shared, stops: impl Fn() -> bool) {
    // SAFETY: has no effect but on this thread's priority.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
    let mut packet = [0; ROOM];
    let mut answer = Vec::with_capacity(ROOM);
    while !stops() {
        let Ok(Some(arrived)) = receive(socket, &mut packet) else {
            continue;
        };
        let bytes = &packet[..arrived.length];
        let handled = server.handle(arrived.from, bytes, arrived.at, clocks, &mut answer);
        if let Ok(Answer::Send { tos }) = handled {
            // A full queue of this host's drops it, as any queue may.
            let _ = send(socket, &answer, &arrived, tos);
        }
        let echoed = server.tally().echoed;
        shared.counters.echoed.store(echoed, Ordering::Relaxed);
    }
}

struct Arrived {
    from: SocketAddr,
    to: Option<Local>,
    length: usize,
    at: Clocks,
}

/// The address that was asked.
enum Local {
    V4(libc::in_pktinfo),
    V6(libc::in6_pktinfo),
}

fn clocks() -> Clocks {
    let wall = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has this clock");
    Clocks {
        wall: time(wall),
        mono: monotonic(),
    }
}

fn time(spec: TimeSpec) -> Time {
    let ns = spec.tv_sec().saturating_mul(1_000_000_000);
    Time::from_ns(ns.saturating_add(spec.tv_nsec()))
}

/// The kernel stamps arrivals by the wall clock alone; how long ago that was tells the other one.
fn arrival(stamp: Option<TimeSpec>) -> Clocks {
    let now = clocks();
    let ago = stamp.map(|stamp| now.wall.since(time(stamp)));
    // Beyond a second the wall clock was set meanwhile.
    let ago = ago.filter(|ago| (0..1_000_000_000).contains(&ago.as_ns()));
    let ago = ago.unwrap_or(Delta::ns(0));
    Clocks {
        wall: now.wall - ago,
        mono: now.mono - ago,
    }
}

fn receive(socket: &UdpSocket, packet: &mut [u8]) -> nix::Result<Option<Arrived>> {
    let mut space = nix::cmsg_space!(TimeSpec, libc::in6_pktinfo, libc::in_pktinfo);
    let mut pieces = [IoSliceMut::new(packet)];
    let flags = MsgFlags::empty();
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut pieces, Some(&mut space), flags)?;
    let (mut stamp, mut to) = (None, None);
    for control in message.cmsgs()? {
        match control {
            ControlMessageOwned::ScmTimestampns(at) => stamp = Some(at),
            ControlMessageOwned::Ipv4PacketInfo(info) => to = Some(Local::V4(info)),
            ControlMessageOwned::Ipv6PacketInfo(info) => to = Some(Local::V6(info)),
            _ => {}
        }
    }
    let from = message.address.as_ref().and_then(internet);
    Ok(from.map(|from| Arrived {
        from,
        to,
        length: message.bytes,
        at: arrival(stamp),
    }))
}

fn internet(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address
        .as_sockaddr_in()
        .map(|a| SocketAddrV4::from(*a).into());
    v4.or_else(|| {
        address
            .as_sockaddr_in6()
            .map(|a| SocketAddrV6::from(*a).into())
    })
}

fn send(socket: &UdpSocket, bytes: &[u8], to: &Arrived, tos: u8) -> nix::Result<()> {
    let address = SockaddrStorage::from(to.from);
    let (byte, class) = (tos, i32::from(tos));
    let mut controls = Vec::with_capacity(2);
    match to.from.ip().to_canonical() {
        IpAddr::V4(_) => controls.push(ControlMessage::Ipv4Tos(&byte)),
        IpAddr::V6(_) => controls.push(ControlMessage::Ipv6TClass(&class)),
    }
    // The route decides on the device; only link-local addresses need it named.
    let (mut v4, mut v6);
    match &to.to {
        Some(Local::V4(info)) => {
            v4 = *info;
            v4.ipi_ifindex = 0;
            controls.push(ControlMessage::Ipv4PacketInfo(&v4));
        }
        Some(Local::V6(info)) => {
            v6 = *info;
            let local = std::net::Ipv6Addr::from(v6.ipi6_addr.s6_addr);
            if !local.is_unicast_link_local() {
                v6.ipi6_ifindex = 0;
            }
            controls.push(ControlMessage::Ipv6PacketInfo(&v6));
        }
        None => {}
    }
    let pieces = [IoSlice::new(bytes)];
    let flags = MsgFlags::MSG_DONTWAIT;
    sendmsg(
        socket.as_raw_fd(),
        &pieces,
        &controls,
        flags,
        Some(&address),
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_carries_the_kernels_time_and_the_address_that_it_came_to() {
        for any in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let socket = bind(any.parse().unwrap()).unwrap();
            let port = socket.local_addr().unwrap().port();
            let target = if any.starts_with("127") {
                "127.0.0.1"
            } else {
                "::1"
            };
            let client = UdpSocket::bind((target, 0)).unwrap();
            client.connect((target, port)).unwrap();
            let before = clocks();
            client.send(b"hello").unwrap();
            let mut packet = [0; ROOM];
            let arrived = receive(&socket, &mut packet).unwrap().unwrap();
            let after = clocks();
            assert_eq!((arrived.length, &packet[..5]), (5, &b"hello"[..]));
            assert!(before.mono <= arrived.at.mono && arrived.at.mono <= after.mono);
            assert!(before.wall <= arrived.at.wall && arrived.at.wall <= after.wall);
            send(&socket, b"back", &arrived, 0x10).unwrap();
            let mut back = [0; 16];
            assert_eq!(client.recv(&mut back).unwrap(), 4);
        }
    }
}
