//! The real capture that all others are made of, in memory.

use crate::error::BenchError;
use std::collections::HashMap;
use std::path::Path;
use unbloat_capture::{Input, Reader, Source};

/// A capture of kernel TCP: whole flows between clients in 10.45.0.0/16 and servers elsewhere.
pub struct Base {
    pub packets: Vec<Packet>,
    pub flows: Vec<Flow>,
    bytes: Vec<u8>,
}

/// One captured packet: Ethernet, IPv4, and TCP or UDP.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Since 1970-01-01 UTC.
    pub time_ns: i64,
    start: u32,
    stored: u32,
    /// Bytes that it had on the wire.
    pub wire_len: u32,
    /// Index into [`Base::flows`].
    pub flow: u32,
    /// From the client.
    pub up: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    pub packets: u32,
    pub tcp: bool,
    first_ns: i64,
    last_ns: i64,
}

impl Flow {
    /// From its first packet to its last.
    pub fn lasts_ns(&self) -> i64 {
        self.last_ns - self.first_ns
    }
}

pub const ETHERNET: usize = 14;
const TCP: u8 = 6;
const UDP: u8 = 17;

impl Base {
    pub fn read(path: &Path) -> Result<Base, BenchError> {
        let mut reader = Reader::open(&Input::File(path.to_owned()))?;
        let mut base = Base {
            packets: Vec::new(),
            flows: Vec::new(),
            bytes: Vec::new(),
        };
        let mut known = HashMap::new();
        while let Some(record) = reader.next()? {
            let number = base.packets.len();
            let place = Place::of(record.data).ok_or(BenchError::Foreign { number })?;
            let flow = *known.entry(place.key).or_insert(base.flows.len() as u32);
            if flow as usize == base.flows.len() {
                base.flows.push(Flow {
                    packets: 0,
                    tcp: place.tcp,
                    first_ns: record.time.as_ns(),
                    last_ns: record.time.as_ns(),
                });
            }
            let of_packet = &mut base.flows[flow as usize];
            of_packet.packets += 1;
            of_packet.last_ns = of_packet.last_ns.max(record.time.as_ns());
            base.packets.push(Packet {
                time_ns: record.time.as_ns(),
                start: base.bytes.len() as u32,
                stored: record.data.len() as u32,
                wire_len: record.wire_len,
                flow,
                up: place.up,
            });
            base.bytes.extend_from_slice(record.data);
        }
        Ok(base)
    }

    pub fn data(&self, packet: &Packet) -> &[u8] {
        &self.bytes[packet.start as usize..][..packet.stored as usize]
    }
}

/// What tells flows and directions apart.
struct Place {
    /// Client address and port, server address and port, protocol.
    key: (u32, u16, u32, u16, u8),
    tcp: bool,
    up: bool,
}

impl Place {
    fn of(data: &[u8]) -> Option<Place> {
        let ip = data.get(ETHERNET..).filter(|ip| ip.len() >= 20)?;
        let protocol = ip[9];
        let is_ipv4 = data[12..14] == [8, 0] && ip[0] >> 4 == 4;
        if !is_ipv4 || !matches!(protocol, TCP | UDP) {
            return None;
        }
        let ports = ip.get(header_len(ip)..header_len(ip) + 4)?;
        let source = (u32_at(ip, 12), u16::from_be_bytes([ports[0], ports[1]]));
        let destination = (u32_at(ip, 16), u16::from_be_bytes([ports[2], ports[3]]));
        let up = ip[12..14] == [10, 45];
        let (client, server) = if up {
            (source, destination)
        } else {
            (destination, source)
        };
        Some(Place {
            key: (client.0, client.1, server.0, server.1, protocol),
            tcp: protocol == TCP,
            up,
        })
    }
}

/// Length of the IPv4 header that `ip` begins with.
pub fn header_len(ip: &[u8]) -> usize {
    usize::from(ip[0] & 15) * 4
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
