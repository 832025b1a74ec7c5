//! One IPv4 packet inside the bed, with the header fields that the logs name it by.
//!
//! The bed reads headers by itself instead of through `unbloat-wire`: an error of the parser that
//! is being scored must not be able to hide in the truth it is scored against.

use std::fmt;
use std::net::Ipv4Addr;

/// Which way a packet goes: down is towards the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    Down,
    Up,
}

impl Direction {
    pub fn name(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }
}

/// Addresses, ports and protocol as they stand in the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    pub protocol: u8,
    pub source: Ipv4Addr,
    pub source_port: u16,
    pub destination: Ipv4Addr,
    pub destination_port: u16,
}

impl FiveTuple {
    /// The tuple of packets going the other way.
    pub fn reversed(self) -> FiveTuple {
        FiveTuple {
            protocol: self.protocol,
            source: self.destination,
            source_port: self.destination_port,
            destination: self.source,
            destination_port: self.source_port,
        }
    }
}

/// `protocol,source,source_port,destination,destination_port`, the columns of every truth file.
impl fmt::Display for FiveTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{},{},{},{},{}",
            self.protocol, self.source, self.source_port, self.destination, self.destination_port
        )
    }
}

const FIRST_CLIENT: u32 = u32::from_be_bytes([10, 45, 0, 2]);
const CLIENT_NET_END: u32 = u32::from_be_bytes([10, 45, 255, 255]);

/// The address of the client with this index: 10.45.0.2 and upwards.
pub fn client_address(index: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST_CLIENT + index as u32)
}

/// The index of the client with this address; `None` outside the clients' network.
pub fn client_index(address: Ipv4Addr) -> Option<usize> {
    (FIRST_CLIENT..CLIENT_NET_END)
        .contains(&address.to_bits())
        .then(|| (address.to_bits() - FIRST_CLIENT) as usize)
}

/// A TCP or UDP packet over IPv4 on its way between one client and the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    pub bytes: Vec<u8>,
    pub tuple: FiveTuple,
    pub direction: Direction,
    /// Index of the client at one end.
    pub client: usize,
    /// TCP sequence number; 0 for UDP.
    pub seq: u32,
    /// TCP flag byte (FIN 1, SYN 2, RST 4, PSH 8, ACK 16); 0 for UDP.
    pub flags: u8,
    pub payload_bytes: u32,
    pub ip_id: u16,
    payload_at: usize,
}

pub(crate) const TCP: u8 = 6;
const UDP: u8 = 17;

impl Packet {
    /// `None` for everything but complete TCP and UDP over IPv4 to or from a client.
    pub fn parse(direction: Direction, bytes: Vec<u8>) -> Option<Packet> {
        let transport = ip_header_bytes(&bytes)?;
        let protocol = bytes[9];
        let ports = bytes.get(transport..transport + 4)?;
        let tuple = FiveTuple {
            protocol,
            source: address(&bytes, 12),
            source_port: be16(ports, 0),
            destination: address(&bytes, 16),
            destination_port: be16(ports, 2),
        };
        let end = match direction {
            Direction::Down => tuple.destination,
            Direction::Up => tuple.source,
        };
        let (seq, flags, payload_at) = match protocol {
            TCP => tcp_fields(&bytes, transport)?,
            UDP => (0, 0, transport + 8),
            _ => return None,
        };
        let payload_bytes = usize::from(be16(&bytes, 2)).checked_sub(payload_at)? as u32;
        Some(Packet {
            tuple,
            direction,
            client: client_index(end)?,
            seq,
            flags,
            payload_bytes,
            ip_id: be16(&bytes, 4),
            payload_at,
            bytes,
        })
    }

    /// Length of the IP packet in bytes, which is what the links count.
    pub fn ip_bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    pub fn payload(&self) -> &[u8] {
        self.bytes.get(self.payload_at..).unwrap_or_default()
    }
}

/// Length of the IPv4 header, i.e. where the transport header starts.
pub(crate) fn ip_header_bytes(bytes: &[u8]) -> Option<usize> {
    let length = usize::from(bytes.first()? & 15) * 4;
    (bytes[0] >> 4 == 4 && length >= 20 && bytes.len() >= length).then_some(length)
}

fn tcp_fields(bytes: &[u8], at: usize) -> Option<(u32, u8, usize)> {
    let header = bytes.get(at..at + 20)?;
    let seq = u32::from_be_bytes(header[4..8].try_into().ok()?);
    Some((seq, header[13], at + usize::from(header[12] >> 4) * 4))
}

fn address(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3])
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A TCP segment with a timestamp option and a right checksum.
    pub(crate) fn segment(direction: Direction, client: usize, seq: u32, payload: usize) -> Packet {
        segment_with_timestamps(direction, client, seq, payload, [0, 0])
    }

    pub(crate) fn segment_with_timestamps(
        direction: Direction,
        client: usize,
        seq: u32,
        payload: usize,
        [value, echo]: [u32; 2],
    ) -> Packet {
        let server = Ipv4Addr::new(10, 99, 0, 1);
        let (from, to) = match direction {
            Direction::Down => ((server, 80u16), (client_address(client), 40_000u16)),
            Direction::Up => ((client_address(client), 40_000), (server, 80)),
        };
        let mut bytes = vec![0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, TCP, 0, 0];
        bytes.extend(from.0.octets());
        bytes.extend(to.0.octets());
        bytes.extend(from.1.to_be_bytes());
        bytes.extend(to.1.to_be_bytes());
        bytes.extend(seq.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
        bytes.extend(value.to_be_bytes());
        bytes.extend(echo.to_be_bytes());
        bytes.resize(52 + payload, b'x');
        let total = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        let sum = tcp_checksum(&bytes);
        bytes[36..38].copy_from_slice(&sum.to_be_bytes());
        Packet::parse(direction, bytes).expect("a segment built by hand parses")
    }

    /// The TCP checksum over pseudo-header and segment; 0 when the packet carries the right one.
    pub(crate) fn tcp_checksum(ip: &[u8]) -> u16 {
        let segment = &ip[20..];
        let mut sum = u32::from(TCP) + segment.len() as u32;
        for pair in ip[12..20].chunks(2).chain(segment.chunks(2)) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| u32::from(*b));
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn the_logged_fields_are_those_of_the_headers() {
        let packet = segment(Direction::Down, 3, 77, 1000);
        assert_eq!((packet.client, packet.seq, packet.ip_id), (3, 77, 7));
        assert_eq!((packet.payload_bytes, packet.ip_bytes()), (1000, 1052));
        assert_eq!(packet.payload().len(), 1000);
        assert_eq!(packet.tuple.to_string(), "6,10.99.0.1,80,10.45.0.5,40000");
    }

    #[test]
    fn foreign_and_cut_packets_are_refused() {
        let whole = segment(Direction::Up, 0, 1, 0).bytes;
        for length in 0..40 {
            assert_eq!(Packet::parse(Direction::Up, whole[..length].to_vec()), None);
        }
        assert_eq!(Packet::parse(Direction::Down, whole), None);
    }
}
