//! Sockets, and packets with the time at which the kernel saw them.

use super::EPOCH_NS;
use super::fault::{Doing, Fault};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;
use unbloat_os::batch::Batch;
use unbloat_os::{clock, sockopt};

/// Messages per system call.
const BATCH: usize = 64;
/// Enough for the headers.
const HEAD: usize = 64;

/// The monotonic clock.
pub(crate) fn now_ns() -> u64 {
    clock::monotonic().as_ns() as u64
}

pub(crate) fn udp() -> Result<Socket, Fault> {
    Socket::new(Domain::IPV4, Type::DGRAM, None).doing(|| "opening a UDP socket".to_owned())
}

pub(crate) fn tcp() -> Result<Socket, Fault> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None);
    socket.doing(|| "opening a TCP socket".to_owned())
}

pub(crate) fn address(host: Ipv4Addr, port: u16) -> SockAddr {
    SockAddr::from(SocketAddrV4::new(host, port))
}

/// Has the kernel note when it received each packet.
pub(crate) fn stamp(socket: &Socket) -> io::Result<()> {
    sockopt::set_receive_stamps(socket.as_fd())
}

/// Hands over all packets that wait: the monotonic time at which each arrived, and its head.
pub(crate) fn receive_all(socket: &Socket, mut take: impl FnMut(u64, &[u8])) -> io::Result<()> {
    let mut batch = Batch::<BATCH, HEAD>::default();
    loop {
        let count = batch.receive(socket.as_fd())?;
        for one in batch.packets() {
            let at_ns = one.stamp.map_or(0, |stamp| stamp.as_ns() as u64);
            take(at_ns.saturating_sub(EPOCH_NS), one.head);
        }
        if count < BATCH {
            return Ok(());
        }
    }
}
