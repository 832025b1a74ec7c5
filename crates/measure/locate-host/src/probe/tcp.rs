//! TCP SYNs by a raw socket: the sequence number tells probes apart, and comes back in every answer.
//!
//! A port is held by a socket that neither listens nor connects, so that nobody else has it and the kernel
//! takes back (RST) what the far end would open.

use super::{Asker, Form, Id, setup, source};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use unbloat_os::checksum::{fold, sum};

const HEADER: usize = 20;
/// The number of the protocol.
const TCP: u8 = 6;
/// Where the destination port stands.
const TO_PORT: usize = 2;
const FIN_SYN_RST_ACK: u8 = 0x17;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

pub(super) const NEED: &str = "root (CAP_NET_RAW)";

struct Tcp {
    from: SocketAddr,
    to: SocketAddr,
    /// The sequence number of probe 0.
    base: u32,
    _held: Socket,
}

pub(super) fn open(target: IpAddr, port: u16) -> io::Result<Asker> {
    let to: SocketAddr = (target, port).into();
    let domain = Domain::for_address(to);
    let held = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    held.bind(&SocketAddr::from((source(target)?, 0)).into())?;
    let from = held
        .local_addr()?
        .as_socket()
        .ok_or(io::ErrorKind::AddrNotAvailable)?;
    let socket = Socket::new(domain, Type::RAW, Some(Protocol::TCP))?;
    setup::prepare(&socket, target.is_ipv6())?;
    // Or it would be given every segment from there, those of the load too.
    socket.attach_filter(&setup::only(target.is_ipv6(), TO_PORT, from.port()))?;
    socket.bind(&SocketAddr::from((from.ip(), 0)).into())?;
    socket.connect(&SocketAddr::from((target, 0)).into())?;
    let base = getrandom::u32().map_err(io::Error::other)?;
    let form = Tcp {
        from,
        to,
        base,
        _held: held,
    };
    Ok(Asker {
        socket,
        form: Box::new(form),
        to: None,
        is_v6: target.is_ipv6(),
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl Tcp {
    fn sent(&self, segment: &[u8]) -> Option<u32> {
        let ports = (u16_at(segment, 0)?, u16_at(segment, 2)?);
        let is_ours = ports == (self.from.port(), self.to.port());
        let number = u32_at(segment, 4)?.wrapping_sub(self.base);
        is_ours.then_some(number)
    }

    fn answered(&self, segment: &[u8]) -> Option<u32> {
        let ports = (u16_at(segment, 0)?, u16_at(segment, 2)?);
        let flags = segment.get(13)? & FIN_SYN_RST_ACK;
        let is_ours = ports == (self.to.port(), self.from.port());
        let is_answer = flags == SYN | ACK || flags == RST | ACK;
        let number = u32_at(segment, 8)?.wrapping_sub(self.base).wrapping_sub(1);
        (is_ours && is_answer).then_some(number)
    }
}

/// Of a segment whose own field is zero.
fn checksum(from: IpAddr, to: IpAddr, segment: &[u8]) -> u16 {
    let of_address = |address| match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    };
    // Both pseudo-headers come to the same sum.
    let rest = u64::from(TCP) + segment.len() as u64 + sum(segment);
    !fold(of_address(from) + of_address(to) + rest)
}

fn whole(id: Option<u32>) -> Id {
    id.map_or(Id::Foreign, Id::Whole)
}

pub(super) fn form(target: IpAddr) -> Box<dyn Form> {
    let held = Socket::new(Domain::IPV4, Type::STREAM, None);
    Box::new(Tcp {
        from: ([10, 0, 0, 1], 40_000).into(),
        to: (target, 443).into(),
        base: u32::MAX - 3,
        _held: held.expect("a socket"),
    })
}

/// What the far end makes of a probe, with the IPv4 header that a raw socket is given too.
pub(super) fn answer(probe: &[u8]) -> Vec<u8> {
    let mut segment = vec![0; HEADER];
    segment[..2].copy_from_slice(&probe[2..4]);
    segment[2..4].copy_from_slice(&probe[..2]);
    let number = u32_at(probe, 4).unwrap_or_default();
    segment[8..12].copy_from_slice(&number.wrapping_add(1).to_be_bytes());
    segment[13] = SYN | ACK;
    [vec![0x45; 20], segment].concat()
}

impl Form for Tcp {
    fn packet(&self, id: u32) -> Vec<u8> {
        let mut segment = Vec::with_capacity(HEADER);
        segment.extend(self.from.port().to_be_bytes());
        segment.extend(self.to.port().to_be_bytes());
        segment.extend(self.base.wrapping_add(id).to_be_bytes());
        segment.extend([0, 0, 0, 0, 5 << 4, SYN, 0xff, 0xff, 0, 0, 0, 0]);
        let check = checksum(self.from.ip(), self.to.ip(), &segment);
        segment[16..18].copy_from_slice(&check.to_be_bytes());
        segment
    }

    fn quoted(&self, quote: &[u8]) -> Id {
        whole(self.sent(quote))
    }

    fn reply(&self, packet: &[u8]) -> Id {
        let header = match (self.to, packet.first()) {
            (SocketAddr::V4(_), Some(first)) => usize::from(first & 0x0f) * 4,
            _ => 0,
        };
        whole(
            packet
                .get(header..)
                .and_then(|segment| self.answered(segment)),
        )
    }

    fn looped(&self, packet: &[u8]) -> Id {
        let at = packet.len().checked_sub(HEADER);
        whole(at.and_then(|at| self.sent(&packet[at..])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_number_comes_back_in_quotes_and_replies() {
        let tcp = Tcp {
            from: ([10, 0, 0, 1], 40_000).into(),
            to: ([10, 0, 0, 2], 443).into(),
            base: u32::MAX - 3,
            _held: Socket::new(Domain::IPV4, Type::STREAM, None).unwrap(),
        };
        let packet = tcp.packet(9);
        assert_eq!(tcp.quoted(&packet[..8]), Id::Whole(9));
        assert_eq!(tcp.quoted(&packet[..7]), Id::Foreign);
        let looped = [&[0x45; 34][..], &packet].concat();
        assert_eq!(tcp.looped(&looped), Id::Whole(9));
        let mut reply = vec![0; 40];
        reply[0] = 0x45;
        reply[20..22].copy_from_slice(&443u16.to_be_bytes());
        reply[22..24].copy_from_slice(&40_000u16.to_be_bytes());
        reply[28..32].copy_from_slice(&6u32.to_be_bytes());
        reply[33] = SYN | ACK;
        assert_eq!(tcp.reply(&reply), Id::Whole(9));
        reply[33] = ACK;
        assert_eq!(tcp.reply(&reply), Id::Foreign);
        assert_eq!(tcp.reply(&[0x4f]), Id::Foreign);
    }

    #[test]
    fn a_segment_that_holds_its_checksum_sums_to_nothing() {
        let (from, to) = ([10, 0, 0, 1].into(), [127, 0, 0, 1].into());
        let mut segment = [7; 20];
        segment[16..18].fill(0);
        let check = checksum(from, to, &segment);
        segment[16..18].copy_from_slice(&check.to_be_bytes());
        assert_eq!(checksum(from, to, &segment), 0);
    }
}
