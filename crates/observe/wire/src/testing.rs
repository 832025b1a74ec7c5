//! Packets built by hand for tests, innermost first.

use crate::{Batch, FlowHasher, LinkType, PacketHeader, Parser, ParserParams, SkipReason};
use unbloat_units::Time;

pub(crate) const ACK: u8 = 0x10;
pub(crate) const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9];

/// From port 40000 to 443.
pub(crate) fn tcp(flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let offset = ((20 + options.len() as u8) / 4) << 4;
    let fixed = [
        0x9c, 0x40, 0x01, 0xbb, 0, 0, 3, 232, 0, 0, 7, 208, offset, flags, 2, 0, 0, 0, 0, 0,
    ];
    [&fixed[..], options, payload].concat()
}

pub(crate) fn udp(src: u16, dst: u16, payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len() as u16;
    let words = [src, dst, len, 0].map(u16::to_be_bytes);
    [&words.concat()[..], payload].concat()
}

/// From 10.0.0.2 to 192.0.2.1.
pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    let header = [
        0x45, 0x2e, high, low, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 2, 192, 0, 2, 1,
    ];
    [&header[..], payload].concat()
}

/// From 2001:db8::1 to 2001:db8::2.
pub(crate) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    let start = [0x62, 0xe0, 0, 0, high, low, next, 64];
    let address = |last| [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    [&start[..], &address(1), &address(2), payload].concat()
}

pub(crate) fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 6][..], &[4; 6], &ethertype.to_be_bytes(), payload].concat()
}

/// An acknowledgement with five bytes of payload in IPv4: 57 bytes.
pub(crate) fn packet() -> Vec<u8> {
    ipv4(6, &tcp(ACK, &TIMESTAMPS, b"hello"))
}

pub(crate) fn parser() -> Parser {
    Parser::new(ParserParams::default(), FlowHasher::with_seed(1))
}

/// The header of a packet of link type `number`, of which only the first bytes were stored.
pub(crate) fn cut(number: u16, packet: &[u8], stored: usize) -> Result<PacketHeader, SkipReason> {
    let mut batch = Batch::default();
    let link = LinkType::from(number);
    let wire_len = packet.len() as u32;
    parser().push(
        &mut batch,
        link,
        &packet[..stored],
        wire_len,
        Time::default(),
    );
    match batch.skipped.iter().next() {
        Some((reason, _)) => Err(reason),
        None => Ok(batch.headers[0]),
    }
}

pub(crate) fn whole(number: u16, packet: &[u8]) -> Result<PacketHeader, SkipReason> {
    cut(number, packet, packet.len())
}
