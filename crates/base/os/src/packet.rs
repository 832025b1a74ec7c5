//! Packet sockets: what a device receives, from the IP header on, and what it is given to send.

use crate::sockopt;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Whose packets a socket gets: those that come in over IPv4.
pub fn open_incoming_ipv4(device: u32) -> io::Result<Socket> {
    const ETH_P_IP: u16 = 0x0800;
    let protocol = Protocol::from(i32::from(ETH_P_IP.to_be()));
    let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol))?;
    let to = address(device, ETH_P_IP);
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

/// Gives packets to the queue of a device, whatever they hold. It receives none.
#[derive(Debug)]
pub struct Sender {
    socket: Socket,
    to: libc::sockaddr_ll,
}

impl Sender {
    /// For a device of the calling thread's namespace.
    pub fn open(device: u32) -> io::Result<Sender> {
        const NOTHING: u16 = 0;
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(Protocol::from(0)))?;
        let to = address(device, NOTHING);
        Ok(Sender { socket, to })
    }

    /// Whether the queue took it.
    pub fn send(&self, bytes: &[u8]) -> io::Result<bool> {
        // SAFETY: both are live for the call, and their lengths are given.
        let sent = unsafe {
            let length = size_of_val(&self.to) as libc::socklen_t;
            let to = (&raw const self.to).cast();
            let from = bytes.as_ptr().cast();
            libc::sendto(self.socket.as_raw_fd(), from, bytes.len(), 0, to, length)
        };
        let error = io::Error::last_os_error();
        match sent {
            0.. => Ok(true),
            _ if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(false),
            _ => Err(error),
        }
    }
}

/// Packets of a protocol on a device.
fn address(device: u32, protocol: u16) -> libc::sockaddr_ll {
    // SAFETY: a sockaddr_ll is plain data, for which zeros are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = device as i32;
    address
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
