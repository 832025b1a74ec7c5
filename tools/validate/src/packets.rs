//! The packets of a bed's captures, read without the parser that is being scored.

use crate::error::ValidateError;
use crate::tuple::Tuple;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use unbloat_capture::{Input, Source, Trace};

const ETHERNET_BYTES: usize = 14;
const TCP: u8 = 6;
const NOP: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

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
    /// The bytes that its sender got twice (DSACK, RFC 2883): the first, and the one after the last.
    pub(crate) twice: Option<(u32, u32)>,
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
        let options = tcp.get(20..headers as usize - header);
        let options = options.or(tcp.get(20..)).unwrap_or_default();
        let ack = long(8)?;
        Some(Packet {
            time_ns,
            tuple: Tuple {
                source: (address(12)?, short(tcp, 0)?),
                destination: (address(16)?, short(tcp, 2)?),
            },
            seq: long(4)?,
            ack,
            payload_bytes: u32::from(short(ip, 2)?).saturating_sub(headers),
            ip_id: short(ip, 4)?,
            timestamps: option(options, TIMESTAMPS).and_then(|all| all.first().copied()),
            twice: option(options, SACK).and_then(|blocks| twice(ack, &blocks)),
        })
    }
}

/// The pairs of numbers that an option carries; options may be cut, and what is no option ends the search.
fn option(mut options: &[u8], wanted: u8) -> Option<Vec<(u32, u32)>> {
    loop {
        match *options {
            [NOP, ref rest @ ..] => options = rest,
            [kind, length, ref rest @ ..] if length >= 2 => {
                let (value, later) = rest.split_at_checked(usize::from(length) - 2)?;
                if kind == wanted {
                    let (words, _) = value.as_chunks();
                    let (pairs, _) = words.as_chunks();
                    let pair =
                        |&[a, b]: &[[u8; 4]; 2]| (u32::from_be_bytes(a), u32::from_be_bytes(b));
                    return Some(pairs.iter().map(pair).collect());
                }
                options = later;
            }
            _ => return None,
        }
    }
}

/// A first block that is acknowledged already, or within the second (RFC 2883 section 4).
fn twice(ack: u32, blocks: &[(u32, u32)]) -> Option<(u32, u32)> {
    let is_below = |left: u32, right: u32| left.wrapping_sub(right) > u32::MAX / 2;
    let &(left, right) = blocks.first()?;
    let within = |&(from, until): &(u32, u32)| !is_below(left, from) && !is_below(until, right);
    (is_below(left, ack) || blocks.get(1).is_some_and(within)).then_some((left, right))
}

/// All of a capture's TCP packets, in its order, found by their direction's tuple.
pub(crate) struct Packets {
    pub(crate) all: Vec<Packet>,
    of: BTreeMap<Tuple, Vec<usize>>,
}

impl Packets {
    /// Reads a capture of Ethernet frames or, where `is_bare`, of IP packets.
    pub(crate) fn read(path: &Path, is_bare: bool) -> Result<Packets, ValidateError> {
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
