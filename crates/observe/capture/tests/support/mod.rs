//! Captures built by hand, byte for byte, and packets read back to compare.

#![expect(dead_code, reason = "each test crate uses a part of this")]

use std::io::{Cursor, Write};
use std::process::{Command, Stdio};
use unbloat_capture::{Damage, Notes, Reader, Record, Source};
use unbloat_units::Time;
use unbloat_wire::LinkType;

/// A packet that outlives its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub time_ns: i64,
    pub link: LinkType,
    pub wire_len: u32,
    pub data: Vec<u8>,
}

impl Packet {
    pub fn of(record: Record<'_>) -> Packet {
        Packet {
            time_ns: record.time.as_ns(),
            link: record.link,
            wire_len: record.wire_len,
            data: record.data.to_vec(),
        }
    }

    pub fn record(&self) -> Record<'_> {
        Record {
            time: Time::from_ns(self.time_ns),
            link: self.link,
            wire_len: self.wire_len,
            data: &self.data,
        }
    }
}

/// Ethernet packets 1.5 ms apart whose sizes and bytes differ; times in whole microseconds.
pub fn packets(count: usize) -> Vec<Packet> {
    (0..count)
        .map(|i| Packet {
            time_ns: 1_700_000_000_999_000_000 + i as i64 * 1_500_000,
            link: LinkType::Ethernet,
            wire_len: 1_000 + i as u32,
            data: (0..40 + i % 7).map(|b| (b + i) as u8).collect(),
        })
        .collect()
}

/// The byte order that a hand-built capture is written in.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub const BOTH: [Order; 2] = [Order::Little, Order::Big];

    pub fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub fn u64(self, value: u64) -> [u8; 8] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }
}

pub const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub const NANOSECONDS: u32 = 0xa1b2_3c4d;
pub const MODIFIED: u32 = 0xa1b2_cd34;

pub fn pcap_header(order: Order, magic: u32, version: (u16, u16), network: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(order.u32(magic));
    bytes.extend(order.u16(version.0));
    bytes.extend(order.u16(version.1));
    bytes.extend([0; 8]);
    bytes.extend(order.u32(65_535));
    bytes.extend(order.u32(network));
    bytes
}

pub fn pcap(order: Order, magic: u32, packets: &[Packet]) -> Vec<u8> {
    let mut bytes = pcap_header(order, magic, (2, 4), 1);
    for packet in packets {
        let fraction = (packet.time_ns % 1_000_000_000) as u32;
        bytes.extend(order.u32((packet.time_ns / 1_000_000_000) as u32));
        bytes.extend(order.u32(if magic == NANOSECONDS {
            fraction
        } else {
            fraction / 1_000
        }));
        bytes.extend(order.u32(packet.data.len() as u32));
        bytes.extend(order.u32(packet.wire_len));
        if magic == MODIFIED {
            bytes.extend([0xee; 8]);
        }
        bytes.extend(&packet.data);
    }
    bytes
}

/// A pcapng block; `body` is padded.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(padded as u32 + 12);
    let mut bytes = order.u32(kind).to_vec();
    bytes.extend(length);
    bytes.extend(body);
    bytes.resize(8 + padded, 0);
    bytes.extend(length);
    bytes
}

pub fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend(order.u64(u64::MAX));
    block(order, 0x0a0d_0d0a, &body)
}

pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = order.u16(code).to_vec();
    bytes.extend(order.u16(value.len() as u16));
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

pub fn interface(order: Order, link: u16, snap_len: u32, options: &[Vec<u8>]) -> Vec<u8> {
    let mut body = order.u16(link).to_vec();
    body.extend([0; 2]);
    body.extend(order.u32(snap_len));
    body.extend(options.concat());
    block(order, 1, &body)
}

pub fn enhanced(order: Order, interface: u32, ticks: u64, packet: &Packet) -> Vec<u8> {
    let mut body = order.u32(interface).to_vec();
    body.extend(packet_body(order, ticks, packet));
    block(order, 6, &body)
}

/// What enhanced and obsolete packet blocks have in common.
pub fn packet_body(order: Order, ticks: u64, packet: &Packet) -> Vec<u8> {
    let mut body = order.u32((ticks >> 32) as u32).to_vec();
    body.extend(order.u32(ticks as u32));
    body.extend(order.u32(packet.data.len() as u32));
    body.extend(order.u32(packet.wire_len));
    body.extend(&packet.data);
    body
}

/// A pcapng with one Ethernet interface in microseconds.
pub fn pcapng(order: Order, packets: &[Packet]) -> Vec<u8> {
    let mut bytes = section(order);
    bytes.extend(interface(order, 1, 0, &[]));
    for packet in packets {
        bytes.extend(enhanced(order, 0, packet.time_ns as u64 / 1_000, packet));
    }
    bytes
}

/// Reads to the end by `fill`, and once more by `next`, which must agree.
pub fn read(bytes: &[u8]) -> (Vec<Packet>, Notes) {
    let open = || Reader::from_stream("capture", Cursor::new(bytes.to_vec())).unwrap();
    let mut reader = open();
    let filled = drain(&mut reader);
    let mut stepper = open();
    let mut stepped = Vec::new();
    while let Some(record) = stepper.next().unwrap() {
        stepped.push(Packet::of(record));
    }
    assert_eq!(filled, stepped);
    assert_eq!(reader.notes(), stepper.notes());
    (filled, reader.notes())
}

pub fn drain(source: &mut dyn Source) -> Vec<Packet> {
    let mut packets = Vec::new();
    while source
        .fill(7, &mut |record| packets.push(Packet::of(record)))
        .unwrap()
        > 0
    {}
    assert!(source.ended());
    packets
}

/// The packets of a capture that ended too early, and how.
pub fn read_damaged(bytes: &[u8]) -> (Vec<Packet>, Damage) {
    let (packets, mut notes) = read(bytes);
    assert_eq!(notes.damage.len(), 1, "{notes:?}");
    (packets, notes.damage.remove(0))
}

/// Runs a tool on standard input and returns its standard output.
pub fn pipe(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", output.status);
    writer.join().unwrap().unwrap();
    output.stdout
}
