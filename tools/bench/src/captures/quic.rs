//! QUIC connections made of TCP connections: the same amounts of data at the same times.
//!
//! A SYN becomes an Initial packet in a datagram of 1,200 bytes, every other segment a packet with a short header. The client's Initial begins as the
//! one in RFC 9001, Appendix A.2, so that an analyzer can decrypt the beginning of a ClientHello. There are no other handshake packets, and the spin
//! bit is always zero, as with the many hosts that do not use it.
//!
//! # References
//! RFC 9000 §14.1 (datagrams that hold an Initial), §17.2.2 (Initial), §17.3.1 (short header).

use super::base::{ETHERNET, header_len};
use super::random::mixed;
use unbloat_os::checksum;

const UDP: u8 = 17;
const IPV4: usize = 20;
const HEADERS: usize = IPV4 + 8;
const PORT: [u8; 2] = 443u16.to_be_bytes();
/// What of a datagram's payload is stored: as much as of the base's packets, which are cut to 128 bytes.
const STORED: usize = 128 - ETHERNET - HEADERS;

/// The whole datagram, padded (RFC 9000 §14.1).
const INITIAL_LEN: u32 = 1200;
/// Header, packet number and authentication tag of a packet with a short header and a connection ID of 8 bytes.
const SHORT_OVERHEAD: u32 = 1 + 8 + 2 + 16;
/// An ACK frame with one range.
const ACK_LEN: u32 = 8;
/// Connections do not fragment (RFC 9000 §14): offloaded segments become a packet of the usual size.
const MOST: u32 = 1350;

/// The beginning of the client's Initial in RFC 9001, Appendix A.2.
const CLIENT: [u8; 38] = [
    0xc0, 0x00, 0x00, 0x00, 0x01, 0x08, 0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08, 0x00, 0x00,
    0x44, 0x9e, 0x7b, 0x9a, 0xec, 0x34, 0xd1, 0xb1, 0xc9, 0x8d, 0xd7, 0x68, 0x9f, 0xb8, 0xec, 0x11,
    0xd2, 0x42, 0xb1, 0x23, 0xdc, 0x9b,
];

/// The beginning of a server's: no destination ID, a source ID of 8 bytes.
const SERVER: [u8; 18] = [
    0xcf, 0x00, 0x00, 0x00, 0x01, 0x00, 0x08, 0xf0, 0x67, 0xa5, 0x50, 0x2a, 0x42, 0x62, 0xb5, 0x00,
    0x40, 0x75,
];

/// Puts a datagram in the place of the TCP segment in `frame`; returns its length on the wire.
pub fn replace(frame: &mut Vec<u8>, wire_len: u32, up: bool) -> u32 {
    let ip = &frame[ETHERNET..];
    let segment = header_len(ip);
    let (offset, flags) = (ip[segment + 12] >> 4, ip[segment + 13]);
    let total = u32::from(u16::from_be_bytes([ip[2], ip[3]])).max(wire_len - ETHERNET as u32);
    let payload = total.saturating_sub(segment as u32 + u32::from(offset) * 4);
    let client_port_at = segment + if up { 0 } else { 2 };
    let client_port = [ip[client_port_at], ip[client_port_at + 1]];
    let is_initial = flags & 2 != 0;
    let len = match (is_initial, payload) {
        (true, _) => INITIAL_LEN,
        (false, 0) => SHORT_OVERHEAD + ACK_LEN,
        (false, n) => (SHORT_OVERHEAD + n).min(MOST),
    };
    let seed = ip[segment + 4..segment + 12]
        .try_into()
        .map_or(0, u64::from_be_bytes);

    frame.truncate(ETHERNET + IPV4);
    let header = &mut frame[ETHERNET..];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&((HEADERS as u32 + len) as u16).to_be_bytes());
    header[9] = UDP;
    header[10..12].fill(0);
    let sum = checksum::of(header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    let (from, to) = match up {
        true => (client_port, PORT),
        false => (PORT, client_port),
    };
    frame.extend(from);
    frame.extend(to);
    frame.extend(((8 + len) as u16).to_be_bytes());
    // No checksum (RFC 768): it would be of bytes that are not stored.
    frame.extend([0, 0]);
    match (is_initial, up) {
        (true, true) => frame.extend(CLIENT),
        (true, false) => frame.extend(SERVER),
        // The fixed bit, and what header protection makes of the rest.
        (false, _) => frame.push(0x40 | (mixed(seed) as u8 & 0x1f)),
    }
    let stored = (len as usize).min(STORED);
    let begun = frame.len() - ETHERNET - HEADERS;
    let random = (0..).flat_map(|n| mixed(seed.wrapping_add(n)).to_be_bytes());
    frame.extend(random.take(stored - begun));
    (ETHERNET + HEADERS) as u32 + len
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Time;
    use unbloat_wire::{Batch, FlowHasher, LinkType, PacketFlags, Parser, ParserParams, protocol};

    /// What the parser makes of a segment with these flags and so much payload.
    fn parsed(flags: u8, payload: u16, up: bool) -> (Batch, u32) {
        let mut frame = vec![0; ETHERNET + 40];
        frame[12] = 8;
        let ip = &mut frame[ETHERNET..];
        ip[..20].copy_from_slice(&[
            0x45, 0, 0, 0, 0, 1, 0, 0, 64, 6, 0, 0, 10, 45, 0, 7, 10, 99, 0, 1,
        ]);
        ip[2..4].copy_from_slice(&(40 + payload).to_be_bytes());
        ip[20..24].copy_from_slice(&[3, 232, 0, 80]);
        (ip[32], ip[33]) = (0x50, flags);
        let wire_len = replace(&mut frame, u32::from(payload) + 54, up);
        assert_eq!(checksum::of(&frame[ETHERNET..ETHERNET + IPV4]), 0);
        let parser = Parser::new(ParserParams::default(), FlowHasher::with_seed(1));
        let mut batch = Batch::default();
        parser.push(
            &mut batch,
            LinkType::Ethernet,
            &frame,
            wire_len,
            Time::from_ns(0),
        );
        (batch, wire_len)
    }

    #[test]
    fn a_syn_becomes_an_initial_and_data_a_short_header() {
        let (initial, wire_len) = parsed(2, 0, true);
        let header = &initial.headers[0];
        assert_eq!(
            (header.protocol, header.dst_port, wire_len),
            (protocol::UDP, 443, 1242)
        );
        assert!(header.flags.has(PacketFlags::QUIC_LONG));
        let (data, data_wire_len) = parsed(0x10, 1_000, false);
        let short = &data.headers[0];
        assert_eq!(
            (short.src_port, short.payload_len, data_wire_len),
            (443, 1_027, 1_069)
        );
        assert!(!short.flags.has(PacketFlags::QUIC_LONG));
        assert_eq!(parsed(0x10, 0, true).0.headers[0].payload_len, 35);
    }
}
