//! What was read from a device: one packet, or one that stands for a row of TCP segments.
//!
//! # References
//! How a large packet falls into segments: `net/ipv4/tcp_offload.c` (`tcp_gso_segment`) and `net/ipv4/af_inet.c`
//! (`inet_gso_segment`) of Linux 6.18. IP identifiers count up, sequence numbers go on by the payload, FIN and PSH stay with
//! the last segment, CWR with the first.

use crate::ip::{self, Header};
use crate::store::{Checksum, Segment};
use crate::tcp;
use crate::vnet::{self, VnetHeader};
use unbloat_qdisc::{IpLen, Packet};

/// Longest header in front of a payload: IP and TCP with all their options, and then some.
pub(crate) const MAX_HEAD: usize = 128;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub ip: Header,
    pub ports: [u16; 2],
    /// Of a packet of the whole length.
    packet: Packet,
    /// Offset of the IP header in what was read.
    start: usize,
    head_len: usize,
    /// Payload of each segment but the last; zero if it is one packet.
    stride: usize,
    checksum: Checksum,
    is_mergeable: bool,
}

impl Arrival {
    /// None: no IP packet, one that is cut short, or a vnet header that contradicts it.
    pub(crate) fn parse(read: &[u8], has_header: bool) -> Option<Arrival> {
        let (vnet, start) = match has_header {
            true => (VnetHeader::parse(*read.first_chunk()?)?, vnet::LEN),
            false => (VnetHeader::default(), 0),
        };
        let bytes = &read[start..];
        let ip = Header::parse(bytes)?;
        let bytes = &bytes[..ip.total];
        let tcp_len = match ip.protocol == ip::TCP && !ip.is_fragment {
            true => tcp::header_len(&bytes[ip.len..]),
            false => None,
        };
        let checksum = checksum(&vnet, &ip)?;
        let ports = ip.ports(bytes);
        let mut arrival = Arrival {
            ip,
            ports,
            packet: ip.packet(bytes, ports),
            start,
            head_len: head_len(&ip, tcp_len, checksum),
            stride: 0,
            checksum,
            is_mergeable: false,
        };
        if let Some(gso) = vnet.gso {
            let tcp_len = tcp_len.filter(|_| gso.is_v6 == ip.is_v6 && gso.segment > 0)?;
            arrival.head_len = ip.len + tcp_len;
            if ip.total - arrival.head_len > usize::from(gso.segment) {
                arrival.stride = usize::from(gso.segment);
            }
        }
        if tcp_len.is_some() && arrival.head_len < ip.total {
            let is_sure = checksum != Checksum::Full;
            arrival.is_mergeable = is_sure && tcp::is_plain_data(&bytes[ip.len..]);
        }
        Some(arrival)
    }

    /// Where the packet lies in what was read.
    pub(crate) fn bytes(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.ip.total
    }

    /// Whether its checksum covers what the header says, or is still to be made.
    pub(crate) fn is_checked(&self) -> bool {
        !matches!(self.checksum, Checksum::Partial { .. })
    }

    /// Packets of the model.
    pub(crate) fn count(&self) -> usize {
        match self.stride {
            0 => 1,
            stride => (self.ip.total - self.head_len).div_ceil(stride),
        }
    }

    /// The descriptor of the nth of them, its bytes read to `room_at` of their chunk.
    pub(crate) fn segment(&self, nth: usize, room_at: u32, port: u16) -> Segment {
        let payload = self.ip.total - self.head_len;
        let begin = nth * self.stride;
        let is_last = nth + 1 == self.count();
        let len = if is_last {
            payload - begin
        } else {
            self.stride
        };
        let head = room_at + self.start as u32;
        Segment {
            head,
            head_len: self.head_len as u16,
            body: head + (self.head_len + begin) as u32,
            body_len: len as u16,
            stride: self.stride as u16,
            nth: nth as u16,
            is_last,
            checksum: self.checksum,
            is_mergeable: self.is_mergeable,
            port,
            ..Segment::default()
        }
    }

    /// What queues see of a segment.
    pub(crate) fn packet(&self, segment: &Segment, handle: u32) -> Packet {
        Packet {
            handle,
            len: IpLen::new(segment.total() as u32),
            ..self.packet
        }
    }
}

fn checksum(vnet: &VnetHeader, ip: &Header) -> Option<Checksum> {
    if !vnet.needs_csum {
        return Some(match vnet.is_valid {
            true => Checksum::Verified,
            false => Checksum::Full,
        });
    }
    let (start, offset) = (vnet.csum_start, vnet.csum_offset);
    let is_tcp = ip.protocol == ip::TCP && !ip.is_fragment;
    let is_its = (usize::from(start), usize::from(offset)) == (ip.len, tcp::CHECKSUM);
    // Elsewhere the field would lie in the payload, which segments do not share.
    if is_tcp && !is_its {
        return None;
    }
    let end = usize::from(start) + usize::from(offset) + 2;
    (usize::from(start) >= ip.len && end <= ip.total.min(MAX_HEAD))
        .then_some(Checksum::Partial { start, offset })
}

/// The header holds the field of an unfinished checksum.
fn head_len(ip: &Header, tcp_len: Option<usize>, checksum: Checksum) -> usize {
    let own = ip.len + tcp_len.unwrap_or(0);
    match checksum {
        Checksum::Partial { start, offset } => {
            own.max(usize::from(start) + usize::from(offset) + 2)
        }
        Checksum::Full | Checksum::Verified => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vnet::Gso;

    /// A vnet header and a TCP segment of 100 bytes behind it.
    fn read(vnet: VnetHeader) -> Vec<u8> {
        let mut packet = vec![0; 140];
        packet[..4].copy_from_slice(&[0x45, 0, 0, 140]);
        packet[9] = ip::TCP;
        packet[20 + 12] = 5 << 4;
        [&vnet.bytes()[..], &packet].concat()
    }

    #[test]
    fn an_unfinished_checksum_of_tcp_is_where_tcp_has_it() {
        let with = |offset| VnetHeader {
            needs_csum: true,
            csum_start: 20,
            csum_offset: offset,
            gso: Some(Gso {
                is_v6: false,
                segment: 2000,
            }),
            ..VnetHeader::default()
        };
        assert!(Arrival::parse(&read(with(16)), true).is_some());
        assert!(Arrival::parse(&read(with(60)), true).is_none());
    }
}
