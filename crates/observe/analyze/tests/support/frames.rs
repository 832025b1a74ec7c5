//! Frames spelt out byte by byte, innermost first.

use std::net::IpAddr;

/// What the worlds' TCP packets say; the window is never scaled beyond what their SYNs offer.
#[derive(Clone, Debug, Default)]
pub struct Tcp {
    pub flags: u8,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub options: Vec<u8>,
}

pub fn tcp(ports: (u16, u16), head: &Tcp, payload: &[u8]) -> Vec<u8> {
    let padding = head.options.len().next_multiple_of(4) - head.options.len();
    let words = (20 + head.options.len() + padding) / 4;
    let mut bytes = Vec::with_capacity(words * 4 + payload.len());
    bytes.extend(ports.0.to_be_bytes());
    bytes.extend(ports.1.to_be_bytes());
    bytes.extend(head.seq.to_be_bytes());
    bytes.extend(head.ack.to_be_bytes());
    bytes.extend([(words as u8) << 4, head.flags]);
    bytes.extend(head.window.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(&head.options);
    bytes.extend(vec![1; padding]);
    bytes.extend(payload);
    bytes
}

pub fn udp(ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let words = [ports.0, ports.1, 8 + payload.len() as u16, 0].map(u16::to_be_bytes);
    [&words.concat()[..], payload].concat()
}

/// A packet of the version that the addresses are of; `id` is IPv4's identification.
pub fn ip(ends: (IpAddr, IpAddr), protocol: u8, id: u16, payload: &[u8]) -> Vec<u8> {
    let len = payload.len() as u16;
    match ends {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let [len, id] = [20 + len, id].map(u16::to_be_bytes);
            let start = [
                0x45, 0, len[0], len[1], id[0], id[1], 0x40, 0, 64, protocol, 0, 0,
            ];
            [&start[..], &src.octets(), &dst.octets(), payload].concat()
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let [high, low] = len.to_be_bytes();
            let start = [0x60, 0, 0, 0, high, low, protocol, 64];
            [&start[..], &src.octets(), &dst.octets(), payload].concat()
        }
        _ => panic!("both ends are of one version"),
    }
}

/// In Ethernet, behind a VLAN tag.
pub fn vlan(packet: &[u8]) -> Vec<u8> {
    let ethertype = if packet[0] >> 4 == 6 {
        [0x86, 0xdd]
    } else {
        [8, 0]
    };
    [&[2; 6][..], &[4; 6], &[0x81, 0, 0, 7], &ethertype, packet].concat()
}

/// A question for the address of `example.org`, or its answer.
pub fn dns(id: u16, answered: bool) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    let flags = if answered { [0x81, 0x80] } else { [0x01, 0x00] };
    let head = [
        high,
        low,
        flags[0],
        flags[1],
        0,
        1,
        0,
        u8::from(answered),
        0,
        0,
        0,
        0,
    ];
    let question = b"\x07example\x03org\0\0\x01\0\x01";
    let answer = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1];
    let answer = if answered { &answer[..] } else { &[] };
    [&head[..], question, answer].concat()
}
