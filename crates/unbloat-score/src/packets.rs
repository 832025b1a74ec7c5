//! The packets of a bed's captures, read without the parser that is being scored.

use crate::error::ScoreError;
use crate::tuple::Tuple;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use unbloat_capture::{Input, Source, Trace};

const ETHERNET_BYTES: usize = 14;
const TCP: u8 = 6;

/// A TCP packet over IPv4.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) time_ns: i64,
    pub(crate) tuple: Tuple,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) payload_bytes: u32,
    pub(crate) ip_id: u16,
    /// TSval and TSecr (RFC 7323).
    pub(crate) timestamps: Option<(u32, u32)>,
}

impl Packet {
    fn parse(time_ns: i64, ip: &[u8]) -> Option<Packet> {
        let header = usize::from(ip.first()? & 0x0f) * 4;
        if *ip.get(9)? != TCP {
            return None;
        }
        let tcp = ip.get(header..)?;
        let short = |bytes: &[u8], at: usize| {
            Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
        };
        let long = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
        let address = |at: usize| {
            Some(Ipv4Addr::new(
                *ip.get(at)?,
                *ip.get(at + 1)?,
                *ip.get(at + 2)?,
                *ip.get(at + 3)?,
            ))
        };
        let headers = header as u32 + u32::from(tcp.get(12)? >> 4) * 4;
        Some(Packet {
            time_ns,
            tuple: Tuple {
                source: (address(12)?, short(tcp, 0)?),
                destination: (address(16)?, short(tcp, 2)?),
            },
            seq: long(4)?,
            ack: long(8)?,
            payload_bytes: u32::from(short(ip, 2)?).saturating_sub(headers),
            ip_id: short(ip, 4)?,
            timestamps: tcp.get(20..).and_then(timestamps),
        })
    }
}

/// From the options of a TCP header, which may be cut; what is no option ends the search.
fn timestamps(mut options: &[u8]) -> Option<(u32, u32)> {
    const NOP: u8 = 1;
    const TIMESTAMPS: u8 = 8;
    loop {
        match *options {
            [NOP, ref rest @ ..] => options = rest,
            [TIMESTAMPS, 10, a, b, c, d, e, f, g, h, ..] => {
                return Some((
                    u32::from_be_bytes([a, b, c, d]),
                    u32::from_be_bytes([e, f, g, h]),
                ));
            }
            [_, length, ..] if length >= 2 => options = options.get(usize::from(length)..)?,
            _ => return None,
        }
    }
}

/// All of a capture's TCP packets, in its order, found by their direction's tuple.
pub(crate) struct Packets {
    pub(crate) all: Vec<Packet>,
    of: BTreeMap<Tuple, Vec<usize>>,
}

impl Packets {
    /// Reads a capture of Ethernet frames or, where `is_bare`, of IP packets.
    pub(crate) fn read(path: &Path, is_bare: bool) -> Result<Packets, ScoreError> {
        let skip = if is_bare { 0 } else { ETHERNET_BYTES };
        let mut trace = Trace::open(&[Input::File(path.to_owned())])?;
        let mut all = Vec::new();
        while let Some(record) = trace.next()? {
            let ip = record.data.get(skip..).unwrap_or_default();
            all.extend(Packet::parse(record.time.as_ns(), ip));
        }
        let mut of: BTreeMap<Tuple, Vec<usize>> = BTreeMap::new();
        for (i, packet) in all.iter().enumerate() {
            of.entry(packet.tuple).or_default().push(i);
        }
        Ok(Packets { all, of })
    }

    /// The packets of one direction of a connection.
    pub(crate) fn of(&self, tuple: Tuple) -> impl DoubleEndedIterator<Item = &Packet> {
        let indices = self.of.get(&tuple).map_or(&[][..], Vec::as_slice);
        indices.iter().map(|&i| &self.all[i])
    }

    /// Those that passed within `from..=until`.
    pub(crate) fn between(
        &self,
        tuple: Tuple,
        from: i64,
        until: i64,
    ) -> impl Iterator<Item = &Packet> {
        let indices = self.of.get(&tuple).map_or(&[][..], Vec::as_slice);
        let begin = indices.partition_point(|&i| self.all[i].time_ns < from);
        let all = &self.all;
        let packets = indices[begin..].iter().map(move |&i| &all[i]);
        packets.take_while(move |p| p.time_ns <= until)
    }

    /// The one that passed at exactly that time.
    pub(crate) fn at(&self, tuple: Tuple, time_ns: i64) -> Option<&Packet> {
        self.between(tuple, time_ns, time_ns).next()
    }
}
