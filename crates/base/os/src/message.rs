//! One packet of a socket with what the kernel says beside it (cmsg(3)): its time, the address that it came to, an ICMP error.

use libc::{cmsghdr, in_pktinfo, in6_pktinfo, msghdr, sock_extended_err};
use socket2::SockAddr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};
use unbloat_units::Time;

/// A packet that was received.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub length: usize,
    /// None where the kernel names no address, or one of another family.
    pub from: Option<SocketAddr>,
    /// By the wall clock; of sockets that were asked for it.
    pub stamp: Option<Time>,
    /// Of sockets that were asked for it.
    pub to: Option<LocalAddress>,
    /// Of the error queue alone.
    pub error: Option<QueuedError>,
}

/// The address that a packet came to, with the device.
#[derive(Clone, Copy)]
pub struct LocalAddress(PacketInfo);

#[derive(Clone, Copy)]
enum PacketInfo {
    V4(in_pktinfo),
    V6(in6_pktinfo),
}

impl std::fmt::Debug for LocalAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            PacketInfo::V4(info) => {
                write!(f, "{}", Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)))
            }
            PacketInfo::V6(info) => write!(f, "{}", Ipv6Addr::from(info.ipi6_addr.s6_addr)),
        }
    }
}

/// Why a message is in the error queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedError {
    /// What was sent entered the queue discipline.
    Queued,
    /// What was sent was handed to the driver.
    Left,
    /// An ICMP error that quotes what was sent. Type and code are those of ICMP, or of ICMPv6.
    Icmp {
        is_v6: bool,
        kind: u8,
        code: u8,
        from: Option<IpAddr>,
    },
    Other,
}

/// The next packet; waits for it where the socket does.
pub fn receive(socket: BorrowedFd<'_>, data: &mut [u8]) -> io::Result<Message> {
    read(socket, data, 0)
}

/// The next packet if there is one; else an error of the kind `WouldBlock`.
pub fn receive_now(socket: BorrowedFd<'_>, data: &mut [u8]) -> io::Result<Message> {
    read(socket, data, libc::MSG_DONTWAIT)
}

/// The next message of the error queue: errors that quote what was sent, stamps of what was sent.
pub fn receive_error(socket: BorrowedFd<'_>, data: &mut [u8]) -> io::Result<Message> {
    read(socket, data, libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE)
}

/// Sends without waiting, from the address to which `to` had written, with that type of service (traffic class).
pub fn send_from(
    socket: BorrowedFd<'_>,
    data: &[u8],
    to: SocketAddr,
    from: Option<LocalAddress>,
    tos: u8,
) -> io::Result<()> {
    let mut control = Control::default();
    match to.ip().to_canonical() {
        IpAddr::V4(_) => control.push(libc::IPPROTO_IP, libc::IP_TOS, tos),
        IpAddr::V6(_) => control.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, i32::from(tos)),
    }
    // The route decides on the device; only link-local addresses need it named.
    match from.map(|from| from.0) {
        Some(PacketInfo::V4(mut info)) => {
            info.ipi_ifindex = 0;
            control.push(libc::IPPROTO_IP, libc::IP_PKTINFO, info);
        }
        Some(PacketInfo::V6(mut info)) => {
            if !Ipv6Addr::from(info.ipi6_addr.s6_addr).is_unicast_link_local() {
                info.ipi6_ifindex = 0;
            }
            control.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
        }
        None => {}
    }
    let address = SockAddr::from(to);
    let mut part = libc::iovec {
        iov_base: data.as_ptr().cast_mut().cast(),
        iov_len: data.len(),
    };
    let mut header = header(&mut part);
    header.msg_name = address.as_ptr().cast_mut().cast();
    header.msg_namelen = address.len();
    header.msg_control = control.bytes.as_mut_ptr().cast();
    header.msg_controllen = control.used as _;
    // SAFETY: the header points to buffers that outlive the call, with their lengths; the call writes none of them.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_DONTWAIT) };
    match sent {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Control messages, aligned as they have to be.
#[derive(Default)]
struct Control {
    bytes: [u64; 32],
    used: usize,
}

impl Control {
    fn push<T: Copy>(&mut self, level: i32, kind: i32, value: T) {
        let size = size_of::<T>() as u32;
        // SAFETY: these compute lengths.
        let (length, space) = unsafe { (libc::CMSG_LEN(size), libc::CMSG_SPACE(size) as usize) };
        assert!(self.used + space <= size_of_val(&self.bytes));
        // SAFETY: there is room for header and value, as was just seen, and headers begin at multiples of their alignment.
        unsafe {
            let place = self.bytes.as_mut_ptr().cast::<u8>().add(self.used);
            let to = place.cast::<cmsghdr>();
            (*to).cmsg_len = length as _;
            (*to).cmsg_level = level;
            (*to).cmsg_type = kind;
            libc::CMSG_DATA(to).cast::<T>().write_unaligned(value);
        }
        self.used += space;
    }
}

fn header(part: &mut libc::iovec) -> msghdr {
    // SAFETY: msghdr is plain data, for which zeros are valid.
    let mut header: msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = part;
    header.msg_iovlen = 1;
    header
}

fn read(socket: BorrowedFd<'_>, data: &mut [u8], flags: i32) -> io::Result<Message> {
    let room = data.len();
    let mut part = libc::iovec {
        iov_base: data.as_mut_ptr().cast(),
        iov_len: room,
    };
    let mut control = Control::default();
    let mut header = header(&mut part);
    header.msg_control = control.bytes.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control.bytes) as _;
    // SAFETY: the header points to buffers that outlive the call, with their lengths, the address's among them.
    let (length, from) = unsafe {
        SockAddr::try_init(|address, address_length| {
            header.msg_name = address.cast();
            header.msg_namelen = *address_length;
            let length = libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags);
            *address_length = header.msg_namelen;
            match length {
                0.. => Ok(length as usize),
                _ => Err(io::Error::last_os_error()),
            }
        })
    }?;
    let mut message = Message {
        length: length.min(room),
        from: from.as_socket(),
        stamp: None,
        to: None,
        error: (flags & libc::MSG_ERRQUEUE != 0).then_some(QueuedError::Other),
    };
    // SAFETY: the call above wrote the header's control messages into memory that still lives.
    unsafe {
        each_control(&header, |level, kind, value| {
            message.note(level, kind, value)
        })
    };
    Ok(message)
}

/// # Safety
/// The kernel must have written the header's control messages, into memory that still lives.
pub(crate) unsafe fn each_control(header: &msghdr, mut take: impl FnMut(i32, i32, &[u8])) {
    // SAFETY: these look at the lengths that the kernel wrote.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !next.is_null() {
        // SAFETY: the kernel wrote this message with its length, and CMSG_NXTHDR stays within what it wrote.
        unsafe {
            let begin = libc::CMSG_DATA(next);
            let length = ((*next).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
            let value = std::slice::from_raw_parts(begin, length);
            take((*next).cmsg_level, (*next).cmsg_type, value);
            next = libc::CMSG_NXTHDR(header, next);
        }
    }
}

impl Message {
    fn note(&mut self, level: i32, kind: i32, value: &[u8]) {
        match (level, kind) {
            // Of several times, that of the kernel stands first.
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS | libc::SCM_TIMESTAMPING) => {
                self.stamp = time(value);
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                // SAFETY: plain data.
                let info = unsafe { plain::<in_pktinfo>(value) };
                self.to = info.map(|info| LocalAddress(PacketInfo::V4(info)));
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                // SAFETY: plain data.
                let info = unsafe { plain::<in6_pktinfo>(value) };
                self.to = info.map(|info| LocalAddress(PacketInfo::V6(info)));
            }
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                self.error = error(value).or(self.error);
            }
            _ => {}
        }
    }
}

/// The time in a control message that begins with one.
pub(crate) fn time(value: &[u8]) -> Option<Time> {
    // SAFETY: plain data.
    let time = unsafe { plain::<libc::timespec>(value) }?;
    let ns = time.tv_sec.checked_mul(1_000_000_000)?;
    Some(Time::from_ns(ns.checked_add(time.tv_nsec)?))
}

fn error(value: &[u8]) -> Option<QueuedError> {
    /// `SCM_TSTAMP_SND` and `SCM_TSTAMP_SCHED` (include/uapi/linux/errqueue.h).
    const SENT: u32 = 0;
    const SCHEDULED: u32 = 1;
    // SAFETY: plain data.
    let error = unsafe { plain::<sock_extended_err>(value) }?;
    let is_v6 = error.ee_origin == libc::SO_EE_ORIGIN_ICMP6;
    Some(match (error.ee_origin, error.ee_info) {
        (libc::SO_EE_ORIGIN_TIMESTAMPING, SENT) => QueuedError::Left,
        (libc::SO_EE_ORIGIN_TIMESTAMPING, SCHEDULED) => QueuedError::Queued,
        (libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6, _) => QueuedError::Icmp {
            is_v6,
            kind: error.ee_type,
            code: error.ee_code,
            from: value
                .get(size_of::<sock_extended_err>()..)
                .and_then(offender),
        },
        _ => QueuedError::Other,
    })
}

/// Who sent an ICMP error: a sockaddr behind it.
fn offender(address: &[u8]) -> Option<IpAddr> {
    let family = u16::from_ne_bytes(*address.first_chunk()?);
    match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: plain data.
            let address = unsafe { plain::<libc::sockaddr_in>(address) }?;
            Some(IpAddr::V4(u32::from_be(address.sin_addr.s_addr).into()))
        }
        libc::AF_INET6 => {
            // SAFETY: plain data.
            let address = unsafe { plain::<libc::sockaddr_in6>(address) }?;
            Some(IpAddr::V6(address.sin6_addr.s6_addr.into()))
        }
        _ => None,
    }
}

/// # Safety
/// Any bytes must be a valid `T`.
unsafe fn plain<T: Copy>(bytes: &[u8]) -> Option<T> {
    let begin = bytes.get(..size_of::<T>())?.as_ptr();
    // SAFETY: so many bytes are there, and the caller vouches that they are a `T`.
    Some(unsafe { begin.cast::<T>().read_unaligned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock, sockopt};
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    fn pair(address: &str) -> (UdpSocket, UdpSocket) {
        let server = UdpSocket::bind((address, 0)).unwrap();
        let client = UdpSocket::bind((address, 0)).unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        (server, client)
    }

    #[test]
    fn a_packet_has_its_sender_its_time_and_the_address_that_it_came_to() {
        for address in ["127.0.0.1", "::1"] {
            let (server, client) = pair(address);
            sockopt::set_receive_stamps(server.as_fd()).unwrap();
            sockopt::set_local_address(server.as_fd(), address == "::1").unwrap();
            let before = clock::wall();
            client.send(b"hello").unwrap();
            let mut data = [0; 64];
            let got = receive(server.as_fd(), &mut data).unwrap();
            assert_eq!(&data[..got.length], b"hello");
            assert_eq!(got.from, client.local_addr().ok());
            let stamp = got.stamp.unwrap();
            assert!(before <= stamp && stamp <= clock::wall());
            send_from(server.as_fd(), b"back", got.from.unwrap(), got.to, 0x10).unwrap();
            assert_eq!(client.recv(&mut data).unwrap(), 4);
            let none = receive_now(server.as_fd(), &mut data).unwrap_err();
            assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn the_error_queue_tells_who_refused_a_packet() {
        for address in ["127.0.0.1", "::1"] {
            let (server, client) = pair(address);
            sockopt::set_error_queue(client.as_fd(), address == "::1").unwrap();
            drop(server);
            client.send(b"lost").unwrap();
            let mut data = [0; 64];
            let got = receive_error(client.as_fd(), &mut data).unwrap();
            assert_eq!(&data[..got.length], b"lost");
            let Some(QueuedError::Icmp { is_v6, from, .. }) = got.error else {
                panic!("{got:?}");
            };
            assert_eq!((is_v6, from), (address == "::1", address.parse().ok()));
        }
    }

    #[test]
    fn what_is_cut_is_no_error() {
        for length in 0..size_of::<sock_extended_err>() {
            assert_eq!(error(&vec![2; length]), None);
        }
        assert_eq!(offender(&[2, 0, 0]), None);
    }
}
