//! A tap on a device: which IP packets came in, and when.

use super::fault::{Doing, Fault, fault};
use super::socket;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use socket2::Socket;
use std::io;
use std::os::fd::AsFd;
use unbloat_os::{device, packet, sockopt};

/// TCP flow 0 goes to this port, the next ones to those above.
pub(crate) const TCP_PORTS: u16 = 5001;
/// UDP flow 0 comes from this port, the next ones from those above.
pub(crate) const UDP_PORTS: u16 = 7001;
/// What pings count as.
pub(crate) const PING_FLOW: u16 = u16::MAX;

/// Taps are read at each sample; packets between two samples wait in the kernel.
const ROOM_BYTES: usize = 256 << 20;

/// A packet that passed a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) at_ns: u64,
    pub(crate) flow: u16,
    /// Different for packets that are near each other in a flow.
    pub(crate) ident: u16,
    pub(crate) ip_bytes: u16,
    pub(crate) ecn: u8,
}

pub(crate) struct Tap {
    socket: Socket,
    seen: Vec<Seen>,
}

impl Tap {
    /// On packets that come in through `device` of the entered host.
    pub(crate) fn on(device: &str) -> Result<Tap, Fault> {
        let socket = open(device).doing(|| format!("tapping {device}"))?;
        Ok(Tap {
            socket,
            seen: Vec::new(),
        })
    }

    /// Takes what waits in the kernel.
    pub(crate) fn drain(&mut self) -> Result<(), Fault> {
        let seen = &mut self.seen;
        socket::receive_all(&self.socket, |at_ns, head| seen.extend(read(at_ns, head)))
            .doing(|| "reading a tap".to_owned())
    }

    /// All that passed, in order.
    pub(crate) fn finish(mut self) -> Result<Vec<Seen>, Fault> {
        self.drain()?;
        let lost = packet::lost(self.socket.as_fd());
        match lost.doing(|| "asking a tap for its losses".to_owned())? {
            0 => Ok(self.seen),
            lost => Err(fault(
                "reading a tap",
                format!("it lost {lost} packets; sample more often"),
            )),
        }
    }
}

fn open(device: &str) -> io::Result<Socket> {
    let socket = packet::open_incoming_ipv4(device::index(device)?)?;
    set_socket_recv_buffer_size_force(&socket, ROOM_BYTES)?;
    sockopt::set_receive_stamps(socket.as_fd())?;
    Ok(socket)
}

/// None for packets that are none of the bed's.
fn read(at_ns: u64, ip: &[u8]) -> Option<Seen> {
    let word = |at: usize| Some(u16::from_be_bytes(ip.get(at..at + 2)?.try_into().ok()?));
    let header = usize::from(ip.first()? & 15) * 4;
    let (flow, ident) = match *ip.get(9)? {
        6 => (word(header + 2)?.checked_sub(TCP_PORTS)?, word(4)?),
        17 => (word(header)?.checked_sub(UDP_PORTS)?, word(4)?),
        1 => (PING_FLOW, word(header + 6)?),
        _ => return None,
    };
    Some(Seen {
        at_ns,
        flow,
        ident,
        ip_bytes: word(2)?,
        ecn: ip[1] & 3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_known_by_flow_and_ip_id() {
        let mut ip = vec![0x45, 2, 5, 220, 0x12, 0x34, 0x40, 0, 64, 6];
        ip.extend_from_slice(&[0; 10]);
        ip.extend_from_slice(&[0x9c, 0x41]);
        ip.extend_from_slice(&(TCP_PORTS + 3).to_be_bytes());
        let seen = read(9, &ip).unwrap();
        assert_eq!(
            (seen.flow, seen.ident, seen.ip_bytes, seen.ecn),
            (3, 0x1234, 1500, 2)
        );
        assert_eq!(read(9, &ip[..21]), None);
    }
}
