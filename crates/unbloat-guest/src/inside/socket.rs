//! Sockets, and packets with the time at which the kernel saw them.

use super::EPOCH_NS;
use super::fault::{Doing, Fault};
use nix::time::{ClockId, clock_gettime};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;

/// Messages per system call.
const BATCH: usize = 64;
/// Enough for the headers.
const HEAD: usize = 64;

/// The monotonic clock.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

pub(crate) fn udp() -> Result<Socket, Fault> {
    Socket::new(Domain::IPV4, Type::DGRAM, None).doing(|| "opening a UDP socket".to_owned())
}

pub(crate) fn tcp() -> Result<Socket, Fault> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None);
    socket.doing(|| "opening a TCP socket".to_owned())
}

/// Sends and receives ICMP to and from one host.
pub(crate) fn icmp(peer: Ipv4Addr) -> Result<Socket, Fault> {
    let open = || {
        let socket = Socket::new(
            Domain::IPV4,
            Type::RAW.nonblocking(),
            Some(Protocol::ICMPV4),
        )?;
        socket.connect(&address(peer, 0))?;
        stamp(&socket)?;
        Ok::<_, io::Error>(socket)
    };
    open().doing(|| "opening an ICMP socket".to_owned())
}

pub(crate) fn address(host: Ipv4Addr, port: u16) -> SockAddr {
    SockAddr::from(SocketAddrV4::new(host, port))
}

/// An option that socket2 has no name for.
pub(crate) fn set_option(socket: &Socket, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the value is an int and its length is given.
    let result = unsafe {
        let value = std::ptr::from_ref(&value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, name, value, 4)
    };
    nix::errno::Errno::result(result)?;
    Ok(())
}

/// Has the kernel note when it received each packet.
pub(crate) fn stamp(socket: &Socket) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Hands over all packets that wait: the monotonic time at which each arrived, and its head.
pub(crate) fn receive_all(socket: &Socket, mut take: impl FnMut(u64, &[u8])) -> io::Result<()> {
    let mut heads = [[0u8; HEAD]; BATCH];
    // Aligned as a cmsghdr has to be.
    let mut controls = [[0u64; 8]; BATCH];
    loop {
        // SAFETY: iovec and mmsghdr are plain data, for which zeros are valid.
        let mut parts: [libc::iovec; BATCH] = unsafe { std::mem::zeroed() };
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        for i in 0..BATCH {
            parts[i].iov_base = heads[i].as_mut_ptr().cast();
            parts[i].iov_len = HEAD;
            headers[i].msg_hdr.msg_iov = &raw mut parts[i];
            headers[i].msg_hdr.msg_iovlen = 1;
            headers[i].msg_hdr.msg_control = controls[i].as_mut_ptr().cast();
            headers[i].msg_hdr.msg_controllen = size_of_val(&controls[i]);
        }
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: every header points to buffers of its own, which outlive the call.
        let count = unsafe {
            let none = std::ptr::null_mut();
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                flags,
                none,
            )
        };
        let count = match nix::errno::Errno::result(count) {
            Ok(count) => count as usize,
            Err(nix::errno::Errno::EAGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for i in 0..count {
            let length = (headers[i].msg_len as usize).min(HEAD);
            take(stamp_of(&headers[i].msg_hdr), &heads[i][..length]);
        }
        if count < BATCH {
            return Ok(());
        }
    }
}

/// The monotonic time in the one control message that was asked for.
fn stamp_of(header: &libc::msghdr) -> u64 {
    // SAFETY: the kernel wrote the header's control messages, and CMSG_FIRSTHDR checks their length.
    let time = unsafe {
        let control = libc::CMSG_FIRSTHDR(header);
        if control.is_null() {
            return 0;
        }
        libc::CMSG_DATA(control)
            .cast::<libc::timespec>()
            .read_unaligned()
    };
    (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64).saturating_sub(EPOCH_NS)
}
