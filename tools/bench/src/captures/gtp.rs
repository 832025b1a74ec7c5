//! Packets wrapped as they travel between base station and gateway (S1-U).
//!
//! # References
//! 3GPP TS 29.281 §5.1: the GTP-U header; flags 0x30 (version 1, GTP, no optional fields), message
//! type 255 (G-PDU), length, TEID.

use super::base::ETHERNET;
use unbloat_os::checksum;

/// Bytes that the tunnel adds: IPv4, UDP and GTP-U headers.
pub const OVERHEAD: usize = 20 + 8 + 8;

const GATEWAY: [u8; 4] = [10, 254, 0, 254];
const PORT: [u8; 2] = 2152u16.to_be_bytes();

/// Appends `frame` in its tunnel to `out`. Every client has a TEID for each direction; 16 cells.
pub fn wrap(out: &mut Vec<u8>, frame: &[u8], wire_len: u32, up: bool, client: u32) {
    let inner_len = wire_len as usize - ETHERNET;
    let cell = [10, 254, 1, 1 + (client & 15) as u8];
    let (from, to) = if up { (cell, GATEWAY) } else { (GATEWAY, cell) };
    out.extend_from_slice(&frame[..ETHERNET]);
    let ip_at = out.len();
    out.extend_from_slice(&[0x45, 0]);
    out.extend_from_slice(&((inner_len + OVERHEAD) as u16).to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, 0, 64, 17, 0, 0]);
    out.extend_from_slice(&from);
    out.extend_from_slice(&to);
    let sum = checksum::of(&out[ip_at..]).to_be_bytes();
    out[ip_at + 10..ip_at + 12].copy_from_slice(&sum);
    out.extend_from_slice(&PORT);
    out.extend_from_slice(&PORT);
    out.extend_from_slice(&((inner_len + 16) as u16).to_be_bytes());
    out.extend_from_slice(&[0, 0, 0x30, 0xff]);
    out.extend_from_slice(&(inner_len as u16).to_be_bytes());
    out.extend_from_slice(&(client << 1 | u32::from(up)).to_be_bytes());
    out.extend_from_slice(&frame[ETHERNET..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Time;
    use unbloat_wire::{Batch, FlowHasher, LinkType, Parser, ParserParams};

    #[test]
    fn the_parser_finds_the_packet_inside() {
        let mut frame = vec![0; ETHERNET + 40];
        frame[12] = 8;
        frame[ETHERNET..ETHERNET + 20].copy_from_slice(&[
            0x45, 0, 0x05, 0xdc, 0, 1, 0, 0, 64, 6, 0, 0, 10, 45, 0, 7, 10, 99, 0, 1,
        ]);
        frame[ETHERNET + 32] = 0x50;
        let mut out = Vec::new();
        wrap(&mut out, &frame, 1514, false, 0x0a2d_0007);
        let parser = Parser::new(ParserParams::default(), FlowHasher::with_seed(1));
        let mut batch = Batch::default();
        let wire_len = 1514 + OVERHEAD as u32;
        parser.push(
            &mut batch,
            LinkType::Ethernet,
            &out,
            wire_len,
            Time::from_ns(0),
        );
        assert_eq!(batch.headers[0].src.to_string(), "10.45.0.7");
        assert_eq!(batch.headers[0].payload_len, 1460);
    }
}
