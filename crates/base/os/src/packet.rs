//! Packet sockets: what a device receives, from the IP header on.

use crate::sockopt;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Whose packets a socket gets: those that come in over IPv4.
pub fn open_incoming_ipv4(device: u32) -> io::Result<Socket> {
    const ETH_P_IP: u16 = 0x0800;
    let protocol = Protocol::from(i32::from(ETH_P_IP.to_be()));
    let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol))?;
    // SAFETY: a sockaddr_ll is plain data, for which zeros are valid.
    let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    to.sll_family = libc::AF_PACKET as u16;
    to.sll_protocol = ETH_P_IP.to_be();
    to.sll_ifindex = device as i32;
    // SAFETY: the address is a sockaddr_ll, and its length is given.
    let done = unsafe {
        let length = size_of_val(&to) as libc::socklen_t;
        libc::bind(socket.as_raw_fd(), (&raw const to).cast(), length)
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    sockopt::set_ignore_outgoing(socket.as_fd())?;
    Ok(socket)
}

/// Packets that found no room since this was last asked.
pub fn lost(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut counts = [0_u32; 2];
    let mut length = size_of_val(&counts) as libc::socklen_t;
    // SAFETY: tpacket_stats is two 32-bit counts, and their length is given.
    let done = unsafe {
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        let to = counts.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), level, name, to, &raw mut length)
    };
    match done {
        0 => Ok(counts[1]),
        _ => Err(io::Error::last_os_error()),
    }
}
