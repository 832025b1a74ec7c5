//! What the emulator must know of an IP packet, and the few fields that it may change.

use crate::tcp;
use unbloat_os::checksum::{fold, replace, sum};
use unbloat_qdisc::{Dscp, Ecn, FlowHash, Host, IpLen, Packet};

pub(crate) const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;
/// Offset of the checksum in an IPv4 header.
const CHECKSUM: usize = 10;

/// An address of either family; IPv4 as IPv4-mapped IPv6.
pub(crate) type Address = u128;

/// The header of a packet that is whole and sound as far as the emulator looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub is_v6: bool,
    pub source: Address,
    pub destination: Address,
    pub traffic_class: u8,
    /// Of the payload; of a fragment other than the first it says nothing about what follows.
    pub protocol: u8,
    pub is_fragment: bool,
    /// Of the IP header.
    pub len: usize,
    /// Of the packet.
    pub total: usize,
}

impl Header {
    /// None: no IP packet, or one cut short.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Header> {
        Header::parse_alone(bytes).filter(|header| bytes.len() >= header.total)
    }

    /// Of a header, whether its packet is there or not.
    pub(crate) fn parse_alone(bytes: &[u8]) -> Option<Header> {
        match bytes.first()? >> 4 {
            4 => Header::parse_v4(bytes),
            6 => Header::parse_v6(bytes),
            _ => None,
        }
    }

    fn parse_v4(bytes: &[u8]) -> Option<Header> {
        let fixed: &[u8; 20] = bytes.first_chunk()?;
        let len = usize::from(fixed[0] & 15) * 4;
        let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        if len < 20 || total < len || bytes.len() < len {
            return None;
        }
        let address = |at: usize| {
            let bits: [u8; 4] = fixed[at..at + 4].try_into().expect("four bytes");
            0xffff_0000_0000 | Address::from(u32::from_be_bytes(bits))
        };
        Some(Header {
            is_v6: false,
            source: address(12),
            destination: address(16),
            traffic_class: fixed[1],
            protocol: fixed[9],
            is_fragment: u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0,
            len,
            total,
        })
    }

    /// What follows an extension header is not looked at: such packets are rare, and the addresses tell their flow.
    fn parse_v6(bytes: &[u8]) -> Option<Header> {
        let fixed: &[u8; 40] = bytes.first_chunk()?;
        let total = 40 + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        let address = |at: usize| {
            Address::from_be_bytes(fixed[at..at + 16].try_into().expect("sixteen bytes"))
        };
        Some(Header {
            is_v6: true,
            source: address(8),
            destination: address(24),
            traffic_class: fixed[0] << 4 | fixed[1] >> 4,
            protocol: fixed[6],
            is_fragment: false,
            len: 40,
            total,
        })
    }

    /// Ports, or the identifier of an echo: what tells flows between two addresses apart. Zero where there is none.
    pub(crate) fn ports(&self, bytes: &[u8]) -> [u16; 2] {
        let word = |at: usize| {
            let field = bytes.get(self.len + at..self.len + at + 2);
            field.map_or(0, |field| u16::from_be_bytes([field[0], field[1]]))
        };
        match self.protocol {
            _ if self.is_fragment => [0; 2],
            TCP | UDP => [word(0), word(2)],
            ICMP | ICMP6 => [word(4), 0],
            _ => [0; 2],
        }
    }

    /// What queues see of the packet.
    pub(crate) fn packet(&self, bytes: &[u8], ports: [u16; 2]) -> Packet {
        let mut packet = Packet::new(0, IpLen::new(self.total as u32), self.flow(ports));
        packet.source = host(self.source);
        packet.destination = host(self.destination);
        packet.ecn = Ecn::of_tos(self.traffic_class);
        packet.dscp = Dscp(self.traffic_class >> 2);
        if self.protocol == TCP && !self.is_fragment {
            packet.pure_ack = tcp::pure_ack(&bytes[self.len..self.total]);
        }
        packet
    }

    fn flow(&self, ports: [u16; 2]) -> FlowHash {
        let ends = u64::from(ports[0]) << 32 | u64::from(ports[1]) << 16 | u64::from(self.protocol);
        let words = [
            self.source as u64 ^ (self.source >> 64) as u64,
            self.destination as u64 ^ (self.destination >> 64) as u64,
            ends,
        ];
        let keys = [
            0x9e37_79b9_7f4a_7c15,
            0xbf58_476d_1ce4_e5b9,
            0x94d0_49bb_1331_11eb,
        ];
        let mixed = words.into_iter().zip(keys).fold(0, |hash, (word, key)| {
            let product = u128::from(word ^ hash ^ key) * u128::from(key);
            product as u64 ^ (product >> 64) as u64
        });
        FlowHash((mixed ^ mixed >> 32) as u32)
    }

    /// Sum of the pseudo-header of a TCP segment of that length, folded (RFC 9293 section 3.1, RFC 8200 section 8.1).
    pub(crate) fn pseudo_sum(&self, protocol: u8, len: usize) -> u16 {
        let of_address = |address: Address| match self.is_v6 {
            true => sum(&address.to_be_bytes()),
            false => sum(&(address as u32).to_be_bytes()),
        };
        let sums = of_address(self.source) + of_address(self.destination);
        fold(sums + u64::from(protocol) + len as u64)
    }
}

/// Whether two whole headers differ in nothing but length, identifier and checksum. A packet that may be fragmented needs its
/// identifier, so it is like no other.
pub(crate) fn are_alike(a: &[u8], b: &[u8]) -> bool {
    const DONT_FRAGMENT: u8 = 0x40;
    if a.len() != b.len() {
        return false;
    }
    match a[0] >> 4 {
        6 => a[..4] == b[..4] && a[6..] == b[6..],
        _ => {
            a[..2] == b[..2]
                && a[6] & DONT_FRAGMENT != 0
                && a[6..10] == b[6..10]
                && a[12..] == b[12..]
        }
    }
}

/// IPv4 hosts by their address, others by a hash of it.
fn host(address: Address) -> Host {
    let folded = address as u64 ^ (address >> 64) as u64;
    match address >> 32 == 0xffff {
        true => Host(address as u32),
        false => Host((folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32),
    }
}

/// Writes Congestion Experienced into a sound header.
pub(crate) fn mark(packet: &mut [u8]) {
    if packet[0] >> 4 == 6 {
        packet[1] |= 0x30;
        return;
    }
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= 3;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    let checksum = u16::from_be_bytes([packet[CHECKSUM], packet[CHECKSUM + 1]]);
    let fixed = replace(checksum, before, after);
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&fixed.to_be_bytes());
}

/// Makes the header say that the packet is `total` bytes long and, in IPv4, that it is the `nth` of a row.
pub(crate) fn resize(header: &mut [u8], total: usize, nth: u16) {
    if header[0] >> 4 == 6 {
        header[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes());
        return;
    }
    let id = u16::from_be_bytes([header[4], header[5]]).wrapping_add(nth);
    header[2..4].copy_from_slice(&(total as u16).to_be_bytes());
    header[4..6].copy_from_slice(&id.to_be_bytes());
    header[CHECKSUM..CHECKSUM + 2].fill(0);
    let len = usize::from(header[0] & 15) * 4;
    let checksum = !fold(sum(&header[..len]));
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
}
