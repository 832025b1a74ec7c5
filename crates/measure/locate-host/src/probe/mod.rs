//! The ways to ask: what a probe looks like, and how its number is found again in what comes back.

pub(crate) mod fuzz;
mod icmp;
mod message;
mod registry;
mod setup;
mod tcp;
mod udp;

pub(crate) use message::{Incoming, Origin, Reader};
pub use registry::Kind;

use rustix::io::Errno;
use socket2::{SockAddr, Socket};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use unbloat_os::checksum;

/// Which probe a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Whole(u32),
    /// The lower half: all that fits where little is quoted.
    Low(u16),
    /// It is for our socket, and says no more.
    Unknown,
    Foreign,
}

/// What probes of one kind look like.
pub(crate) trait Form {
    /// What is given to the socket to send.
    fn packet(&self, id: u32) -> Vec<u8>;
    /// The probe that an ICMP error quotes, from where the kernel lets the quote begin.
    fn quoted(&self, quote: &[u8]) -> Id;
    /// The probe that the far end itself answers.
    fn reply(&self, packet: &[u8]) -> Id;
    /// The probe that was sent, from the packet that the kernel hands back with its stamp.
    fn looped(&self, packet: &[u8]) -> Id;
}

/// A socket with its form.
pub(crate) struct Asker {
    pub(crate) socket: Socket,
    pub(crate) form: Box<dyn Form>,
    /// None where the socket is connected.
    to: Option<SockAddr>,
    is_v6: bool,
}

impl Asker {
    /// Sends a probe that ends at hop `ttl`. False: this host refused it.
    pub(crate) fn send(&self, id: u32, ttl: u8) -> io::Result<bool> {
        match self.is_v6 {
            true => self.socket.set_unicast_hops_v6(ttl.into())?,
            false => self.socket.set_ttl_v4(ttl.into())?,
        }
        let packet = self.form.packet(id);
        // An answer that came meanwhile is also an error of the socket, told once.
        for _ in 0..4 {
            let sent = match &self.to {
                Some(to) => self.socket.send_to(&packet, to),
                None => self.socket.send(&packet),
            };
            match sent {
                Ok(_) => return Ok(true),
                Err(error) if is_answer(&error) => {}
                Err(error) if is_refusal(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

fn is_answer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable};
    let is_known = matches!(
        error.kind(),
        ConnectionRefused | HostUnreachable | NetworkUnreachable
    );
    is_known
        || matches!(
            Errno::from_io_error(error),
            Some(Errno::PROTO | Errno::ACCESS | Errno::NOPROTOOPT)
        )
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOBUFS | Errno::AGAIN | Errno::PERM | Errno::NETDOWN)
    )
}

/// Twelve bytes that only this run can write, and whose checksum is the same for every number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    secret: u32,
}

impl Mark {
    pub(crate) const BYTES: usize = 12;

    pub(crate) fn new() -> io::Result<Mark> {
        let secret = getrandom::u32().map_err(io::Error::other)?;
        Ok(Mark { secret })
    }

    pub(crate) fn write(self, id: u32) -> [u8; Mark::BYTES] {
        self.write_with(id, 0)
    }

    /// `also` is a word elsewhere in the packet that changes from probe to probe.
    pub(crate) fn write_with(self, id: u32, also: u16) -> [u8; Mark::BYTES] {
        let mut bytes = [0; Mark::BYTES];
        bytes[..4].copy_from_slice(&self.secret.to_be_bytes());
        bytes[4..8].copy_from_slice(&id.to_be_bytes());
        let sum = checksum::fold(checksum::sum(&id.to_be_bytes()) + u64::from(also));
        bytes[8..10].copy_from_slice(&(!sum).to_be_bytes());
        bytes
    }

    /// From where a mark begins, as much of it as there is.
    pub(crate) fn read(self, bytes: &[u8]) -> Id {
        match bytes {
            [a, b, c, d, e, f, g, h, ..] => {
                match u32::from_be_bytes([*a, *b, *c, *d]) == self.secret {
                    true => Id::Whole(u32::from_be_bytes([*e, *f, *g, *h])),
                    false => Id::Foreign,
                }
            }
            _ => Id::Unknown,
        }
    }

    /// Where a mark ends a packet.
    pub(crate) fn read_last(self, packet: &[u8]) -> Id {
        let at = packet.len().checked_sub(Mark::BYTES);
        at.map_or(Id::Foreign, |at| self.read(&packet[at..]))
    }
}

/// The address that packets to there have as theirs.
pub(crate) fn source(to: IpAddr) -> io::Result<IpAddr> {
    let socket = UdpSocket::bind(any_of(to))?;
    // No packet is sent: any port will do.
    socket.connect((to, 9))?;
    Ok(socket.local_addr()?.ip())
}

fn any_of(target: IpAddr) -> SocketAddr {
    let any: IpAddr = match target {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    (any, 0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_all_numbers_have_one_checksum_and_are_read_back() {
        let mark = Mark {
            secret: 0xdead_beef,
        };
        let first = checksum::of(&mark.write(0));
        for id in [1, 77, 0xffff, 0x1_0000, 0xabcd_ef01] {
            let bytes = mark.write(id);
            assert_eq!(checksum::of(&bytes), first, "{id:x}");
            assert_eq!(mark.read(&bytes), Id::Whole(id));
            assert_eq!(mark.read(&bytes[..7]), Id::Unknown);
            let mut long = vec![9; 40];
            long.extend(bytes);
            assert_eq!(mark.read_last(&long), Id::Whole(id));
        }
        let other = Mark { secret: 1 };
        assert_eq!(other.read(&mark.write(5)), Id::Foreign);
        assert_eq!(mark.read_last(&[]), Id::Foreign);
    }
}
