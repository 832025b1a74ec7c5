//! Classic pcap files with nanosecond times.

use crate::core::{Direction, Packet};
use std::io::{self, Write};
use unbloat_units::Time;

const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;
const ETHERNET: u32 = 1;
const RAW_IP: u32 = 101;
/// Locally administered addresses of the two sides of the monitored link, then IPv4.
const TOWARDS_CLIENT: [u8; 14] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
const TOWARDS_SERVER: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];

/// Starts a capture of Ethernet frames.
pub(crate) fn ethernet_header(out: &mut impl Write) -> io::Result<()> {
    header(out, ETHERNET)
}

/// Starts a capture of bare IP packets.
pub(crate) fn raw_header(out: &mut impl Write) -> io::Result<()> {
    header(out, RAW_IP)
}

fn header(out: &mut impl Write, link_type: u32) -> io::Result<()> {
    for word in [NANOSECOND_MAGIC, 2 | 4 << 16, 0, 0, 65_535, link_type] {
        out.write_all(&word.to_le_bytes())?;
    }
    Ok(())
}

/// Writes the first `keep` bytes of an IP packet in an Ethernet frame.
pub(crate) fn ethernet_record(
    out: &mut impl Write,
    at: Time,
    packet: &Packet,
    keep: usize,
) -> io::Result<()> {
    let frame = match packet.direction {
        Direction::Down => &TOWARDS_CLIENT,
        Direction::Up => &TOWARDS_SERVER,
    };
    record(out, at, frame, packet, keep)
}

/// Writes the first `keep` bytes of an IP packet.
pub(crate) fn raw_record(
    out: &mut impl Write,
    at: Time,
    packet: &Packet,
    keep: usize,
) -> io::Result<()> {
    record(out, at, &[], packet, keep)
}

fn record(
    out: &mut impl Write,
    at: Time,
    frame: &[u8],
    packet: &Packet,
    keep: usize,
) -> io::Result<()> {
    let kept = &packet.bytes[..keep.min(packet.bytes.len())];
    let ns = at.as_ns();
    for word in [
        (ns / 1_000_000_000) as u32,
        (ns % 1_000_000_000) as u32,
        (frame.len() + kept.len()) as u32,
        (frame.len() + packet.bytes.len()) as u32,
    ] {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(frame)?;
    out.write_all(kept)
}

/// How much of a packet a headers-only capture keeps: `snap` bytes, heads of HTTP/1 messages
/// whole (as the LTE study's captures had them), DNS whole.
pub(crate) fn kept_bytes(packet: &Packet, snap: usize) -> usize {
    let payload = packet.payload();
    let headers = packet.bytes.len() - payload.len();
    let tuple = &packet.tuple;
    let head = if tuple.source_port == 53 || tuple.destination_port == 53 {
        payload.len()
    } else if [&b"GET "[..], b"POST ", b"HTTP/1."]
        .iter()
        .any(|s| payload.starts_with(s))
    {
        let end = payload.windows(4).position(|w| w == b"\r\n\r\n");
        end.map_or(payload.len(), |at| at + 4)
    } else {
        0
    };
    snap.max(headers + head).min(packet.bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::segment;

    #[test]
    fn data_is_cut_at_the_snap_length_and_http_heads_are_kept() {
        let mut packet = segment(Direction::Down, 0, 1, 1000);
        assert_eq!(kept_bytes(&packet, 114), 114);
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nContent-Type: video/mp4\r\nServer: lab\r\n\r\n";
        packet.bytes[52..52 + head.len()].copy_from_slice(head);
        assert_eq!(kept_bytes(&packet, 114), 52 + head.len());
    }

    #[test]
    fn a_record_states_both_lengths() {
        let packet = segment(Direction::Up, 0, 1, 1000);
        let mut out = Vec::new();
        ethernet_record(&mut out, Time::from_ns(3_000_000_007), &packet, 100).unwrap();
        let words: Vec<u32> = out[..16]
            .chunks(4)
            .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
            .collect();
        assert_eq!(words, [3, 7, 114, 1066]);
        assert_eq!(out.len(), 16 + 114);
    }
}
