//! Bytes of a packet between base station and gateway: Ethernet, IPv4, UDP, GTP-U, and the user's own packet.
//!
//! # References
//! 3GPP TS 29.281 section 5.1 (GTP-U header), RFC 791, RFC 768, RFC 9293, RFC 7323, RFC 2018.
//!
//! # Where we differ
//! 1. Checksums of the outer UDP are zero, as RFC 768 allows and TS 29.281 recommends for IPv4; all others are right.
//! 2. The frame ends after the last header, or after the text of an HTTP head; the payload behind it is zeros.

use crate::truth::FlowName;
use std::net::Ipv4Addr;
use unbloat_units::{Direction, Seq};

/// Where a user's packets go between base station and gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tunnel {
    pub base_station: Ipv4Addr,
    pub gateway: Ipv4Addr,
    /// Tunnel endpoint ids: of the base station for the downlink, of the gateway for the uplink.
    pub teid_down: u32,
    pub teid_up: u32,
}

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const PSH: u8 = 8;
pub(crate) const ACK: u8 = 16;

/// A TCP header and what follows it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tcp<'a> {
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    /// As in the header, after scaling.
    pub window: u16,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    pub sacks: &'a [(u32, u32)],
    /// Of a SYN: maximum segment size and window scale.
    pub syn_options: Option<(u16, u8)>,
    pub payload: u32,
    /// The first bytes of the payload; the rest is zeros.
    pub text: &'a [u8],
}

const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
const GTP: usize = 8;
/// All that is around the user's packet.
const AROUND: usize = ETHERNET + IP + UDP + GTP;

/// Appends a frame; returns its length on the wire.
pub(crate) fn tcp(
    out: &mut Vec<u8>,
    tunnel: &Tunnel,
    name: &FlowName,
    direction: Direction,
    ip_id: u16,
    header: &Tcp<'_>,
) -> u32 {
    let start = out.len();
    let mut options = [0_u8; 40];
    let options = options_of(header, &mut options);
    let tcp_len = 20 + options.len();
    let inner_len = (IP + tcp_len) as u32 + header.payload;
    around(out, tunnel, direction, inner_len, ip_id);
    let (source, destination) = ends(name, direction);
    ip(out, 6, inner_len, ip_id, source.0, destination.0);
    let tcp_start = out.len();
    out.extend(source.1.to_be_bytes());
    out.extend(destination.1.to_be_bytes());
    out.extend(header.seq.to_be_bytes());
    out.extend(header.ack.to_be_bytes());
    out.push(((tcp_len / 4) << 4) as u8);
    out.push(header.flags);
    out.extend(header.window.to_be_bytes());
    out.extend([0; 4]);
    out.extend(options);
    let text = &header.text[..header.text.len().min(header.payload as usize)];
    out.extend(text);
    let length = tcp_len as u32 + header.payload;
    let sum = checksum(
        &out[tcp_start..],
        pseudo_header(source.0, destination.0, 6, length),
    );
    out[tcp_start + 16..tcp_start + 18].copy_from_slice(&sum.to_be_bytes());
    debug_assert!(out.len() - start <= AROUND + inner_len as usize);
    AROUND as u32 + inner_len
}

/// The same for a datagram.
pub(crate) fn udp(
    out: &mut Vec<u8>,
    tunnel: &Tunnel,
    name: &FlowName,
    direction: Direction,
    ip_id: u16,
    payload: &[u8],
) -> u32 {
    let inner_len = (IP + UDP + payload.len()) as u32;
    around(out, tunnel, direction, inner_len, ip_id);
    let (source, destination) = ends(name, direction);
    ip(out, 17, inner_len, ip_id, source.0, destination.0);
    let start = out.len();
    let length = (UDP + payload.len()) as u16;
    for word in [source.1, destination.1, length, 0] {
        out.extend(word.to_be_bytes());
    }
    out.extend(payload);
    let sum = checksum(
        &out[start..],
        pseudo_header(source.0, destination.0, 17, length.into()),
    );
    out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
    AROUND as u32 + inner_len
}

type End = (Ipv4Addr, u16);

fn ends(name: &FlowName, direction: Direction) -> (End, End) {
    let client = (name.client, name.client_port);
    let server = (name.server, name.server_port);
    match direction {
        Direction::Down => (server, client),
        Direction::Up => (client, server),
    }
}

fn around(out: &mut Vec<u8>, tunnel: &Tunnel, direction: Direction, inner_len: u32, ip_id: u16) {
    let (source, destination, teid) = match direction {
        Direction::Down => (tunnel.gateway, tunnel.base_station, tunnel.teid_down),
        Direction::Up => (tunnel.base_station, tunnel.gateway, tunnel.teid_up),
    };
    out.extend(mac(destination));
    out.extend(mac(source));
    out.extend([0x08, 0x00]);
    let len = (IP + UDP + GTP) as u32 + inner_len;
    ip(out, 17, len, ip_id, source, destination);
    let udp_len = (UDP + GTP) as u16 + inner_len as u16;
    for word in [2_152, 2_152, udp_len, 0] {
        out.extend(word.to_be_bytes());
    }
    // Version 1, protocol type GTP, no optional field; message type G-PDU.
    out.extend([0x30, 0xff]);
    out.extend((inner_len as u16).to_be_bytes());
    out.extend(teid.to_be_bytes());
}

/// A locally administered address made of the IP address.
fn mac(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    [0x02, 0x00, a, b, c, d]
}

fn ip(out: &mut Vec<u8>, protocol: u8, len: u32, id: u16, source: Ipv4Addr, destination: Ipv4Addr) {
    let start = out.len();
    out.extend([0x45, 0]);
    out.extend((len as u16).to_be_bytes());
    out.extend(id.to_be_bytes());
    // Not to be fragmented.
    out.extend([0x40, 0, 64, protocol, 0, 0]);
    out.extend(source.octets());
    out.extend(destination.octets());
    let sum = checksum(&out[start..], 0);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Options as Linux lays them out.
fn options_of<'o>(header: &Tcp<'_>, room: &'o mut [u8; 40]) -> &'o [u8] {
    let mut len = 0;
    let mut put = |bytes: &[u8]| {
        room[len..len + bytes.len()].copy_from_slice(bytes);
        len += bytes.len();
    };
    if let Some((mss, _)) = header.syn_options {
        let [high, low] = mss.to_be_bytes();
        put(&[2, 4, high, low, 1, 1, 4, 2]);
    }
    if let Some((value, echo)) = header.timestamps {
        put(&[1, 1, 8, 10]);
        put(&value.to_be_bytes());
        put(&echo.to_be_bytes());
    }
    if let Some((_, scale)) = header.syn_options {
        put(&[1, 3, 3, scale]);
    }
    if !header.sacks.is_empty() {
        put(&[1, 1, 5, 2 + 8 * header.sacks.len() as u8]);
        for (start, end) in header.sacks {
            put(&start.to_be_bytes());
            put(&end.to_be_bytes());
        }
    }
    &room[..len]
}

fn pseudo_header(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, length: u32) -> u32 {
    let words = |address: Ipv4Addr| {
        let bits = address.to_bits();
        (bits >> 16) + (bits & 0xffff)
    };
    words(source) + words(destination) + u32::from(protocol) + length
}

/// RFC 1071; bytes beyond `bytes` are zeros and add nothing.
fn checksum(bytes: &[u8], begin: u32) -> u16 {
    let mut sum = begin;
    for pair in bytes.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        sum += u32::from(u16::from_be_bytes([pair[0], low]));
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

/// Sequence numbers of blocks of a stream that begins after `isn`.
pub(crate) fn on_wire(isn: u32, offset: u64) -> u32 {
    (Seq::new(isn) + 1_u32.wrapping_add(offset as u32)).raw()
}
