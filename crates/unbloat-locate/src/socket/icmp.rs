//! Echo requests by a ping socket: the kernel writes identifier and checksum, and hands over its own
//! answers only.

use super::{Asker, Form, Id, Mark, any_of, setup};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Type, code, checksum, identifier, sequence number.
const HEADER: usize = 8;

struct Icmp {
    mark: Mark,
    request: u8,
    reply: u8,
}

pub(super) fn open(target: IpAddr) -> io::Result<Asker> {
    let address: SocketAddr = (target, 0).into();
    let (protocol, request, reply) = match target {
        IpAddr::V4(_) => (Protocol::ICMPV4, 8, 0),
        IpAddr::V6(_) => (Protocol::ICMPV6, 128, 129),
    };
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(protocol))?;
    setup::prepare(&socket, target.is_ipv6())?;
    // All probes have the identifier that this gives.
    socket.bind(&any_of(target).into())?;
    let mark = Mark::new()?;
    Ok(Asker {
        socket,
        form: Box::new(Icmp {
            mark,
            request,
            reply,
        }),
        to: Some(address.into()),
        is_v6: target.is_ipv6(),
    })
}

impl Form for Icmp {
    fn packet(&self, id: u32) -> Vec<u8> {
        let sequence = id as u16;
        let [high, low] = sequence.to_be_bytes();
        let mut packet = vec![self.request, 0, 0, 0, 0, 0, high, low];
        packet.extend(self.mark.write_with(id, sequence));
        packet
    }

    fn quoted(&self, quote: &[u8]) -> Id {
        match (quote, quote.get(HEADER..)) {
            ([kind, _, _, _, _, _, high, low, ..], Some(rest)) if *kind == self.request => {
                match self.mark.read(rest) {
                    Id::Unknown => Id::Low(u16::from_be_bytes([*high, *low])),
                    id => id,
                }
            }
            _ => Id::Foreign,
        }
    }

    fn reply(&self, packet: &[u8]) -> Id {
        match (packet, packet.get(HEADER..)) {
            ([kind, ..], Some(rest)) if *kind == self.reply => match self.mark.read(rest) {
                Id::Unknown => Id::Foreign,
                id => id,
            },
            _ => Id::Foreign,
        }
    }

    fn looped(&self, packet: &[u8]) -> Id {
        self.mark.read_last(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_quote_gives_half_the_number_and_nonsense_none() {
        let icmp = Icmp {
            mark: Mark::new().unwrap(),
            request: 8,
            reply: 0,
        };
        let mut packet = icmp.packet(0x1_2345);
        assert_eq!(icmp.quoted(&packet), Id::Whole(0x1_2345));
        assert_eq!(icmp.quoted(&packet[..8]), Id::Low(0x2345));
        assert_eq!(icmp.quoted(&packet[..7]), Id::Foreign);
        assert_eq!(icmp.reply(&packet), Id::Foreign);
        packet[0] = 0;
        assert_eq!(icmp.reply(&packet), Id::Whole(0x1_2345));
        assert_eq!(icmp.reply(&packet[..8]), Id::Foreign);
        assert_eq!(icmp.quoted(&[]), Id::Foreign);
    }
}
