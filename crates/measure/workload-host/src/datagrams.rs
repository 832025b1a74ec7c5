//! Datagrams of a flow: number and send time go with each.

use crate::end::address;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use unbloat_os::batch::Batch;
use unbloat_os::clock::Clock;
use unbloat_os::sockopt;
use unbloat_units::{Bytes, Time};

/// IP and UDP.
const HEADERS: usize = 28;
/// Number and time of sending: so much a datagram carries at least.
const LABEL: usize = 16;
const MOST: usize = 65_507;
/// IP length of the shortest datagram: smaller ones are padded to it, because number and send time go with each.
pub const LEAST_DATAGRAM: Bytes = Bytes::new((HEADERS + LABEL) as u64);
/// Datagrams for one system call.
const BATCH: usize = 32;
/// What waits to be read is not lost for lack of memory.
const RECEIVE_BUFFER: usize = 4 << 20;

/// One end: bound to a port, connected to the same port of the peer.
pub(crate) struct Port {
    socket: Socket,
}

/// A datagram that arrived.
pub(crate) struct Arrival {
    pub(crate) number: u64,
    pub(crate) sent: Time,
    pub(crate) payload: Bytes,
    /// When the kernel had it.
    pub(crate) at: Time,
}

impl Port {
    pub(crate) fn open((from, to): (Ipv4Addr, Ipv4Addr), port: u16, dscp: u8) -> io::Result<Port> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM.nonblocking(), None)?;
        sockopt::set_receive_stamps(socket.as_fd())?;
        set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER)?;
        if dscp > 0 {
            socket.set_tos_v4(u32::from(dscp) << 2)?;
        }
        socket.bind(&address(from, port))?;
        socket.connect(&address(to, port))?;
        Ok(Port { socket })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a datagram of so many IP bytes, as near as the label and UDP allow; false if the kernel would not take it.
    pub(crate) fn send(
        &self,
        number: u64,
        size: Bytes,
        clock: Clock,
        buffer: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let wanted = usize::try_from(size.as_u64()).unwrap_or(MOST);
        buffer.clear();
        buffer.resize(wanted.saturating_sub(HEADERS).clamp(LABEL, MOST), 0);
        buffer[..8].copy_from_slice(&number.to_le_bytes());
        buffer[8..LABEL].copy_from_slice(&clock.now().as_ns().to_le_bytes());
        match self.socket.send(buffer) {
            Ok(_) => Ok(true),
            // The next call reports an ICMP error of the peer, which may be about an earlier packet.
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::AGAIN | Errno::NOBUFS | Errno::CONNREFUSED) => Ok(false),
                _ => Err(error),
            },
        }
    }

    /// Hands over all datagrams that wait.
    pub(crate) fn receive(&self, clock: Clock, mut take: impl FnMut(Arrival)) -> io::Result<()> {
        let mut batch = Batch::<BATCH, LABEL>::default();
        loop {
            let count = batch.receive(self.fd())?;
            let ahead = clock.wall_ahead();
            for received in batch.packets() {
                let Ok(label) = <&[u8; LABEL]>::try_from(received.head) else {
                    continue;
                };
                let (number, sent) = label.split_at(8);
                take(Arrival {
                    number: u64::from_le_bytes(number.try_into().expect("eight bytes")),
                    sent: Time::from_ns(i64::from_le_bytes(sent.try_into().expect("eight bytes"))),
                    payload: Bytes::new(received.length as u64),
                    at: received
                        .stamp
                        .map_or_else(|| clock.now(), |wall| wall - ahead),
                });
            }
            if count < BATCH {
                return Ok(());
            }
        }
    }
}
