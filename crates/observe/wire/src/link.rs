//! Link types of captures, and what their frames begin with.
//!
//! # References
//! - The registry of LINKTYPE_ values, <https://www.tcpdump.org/linktypes.html>

use crate::SkipReason;
use crate::frame::{Carrier, ethertype};
use crate::view::{View, be16};

/// A pcap LINKTYPE_ number. In a pcap file it is the low 16 bits of the header's last word, in
/// pcapng the field of the interface block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// Four bytes of address family, in the byte order of the machine that captured (0) or of the
    /// network (108).
    Loopback,
    Ethernet,
    /// PPP, with or without address and control bytes (9).
    Ppp,
    /// PPP or Cisco HDLC on a serial line (50).
    PppSerial,
    /// PPPoE without the Ethernet below it (51).
    Pppoe,
    /// IPv4 or IPv6 by its first nibble: 101; 12 and 14 as BSDs number it; 228, 229.
    RawIp,
    /// Linux cooked capture (113), what `-i any` gave.
    LinuxCooked,
    /// Linux cooked capture v2 (276), what `-i any` gives now.
    LinuxCooked2,
    /// One that we do not read, with its number.
    Other(u16),
}

impl From<u16> for LinkType {
    fn from(number: u16) -> LinkType {
        match number {
            0 | 108 => LinkType::Loopback,
            1 => LinkType::Ethernet,
            9 => LinkType::Ppp,
            50 => LinkType::PppSerial,
            51 => LinkType::Pppoe,
            12 | 14 | 101 | 228 | 229 => LinkType::RawIp,
            113 => LinkType::LinuxCooked,
            276 => LinkType::LinuxCooked2,
            other => LinkType::Other(other),
        }
    }
}

impl LinkType {
    /// What the frame begins with once headers that exist in captures only are taken off.
    #[inline]
    pub(crate) fn strip<'a>(self, frame: View<'a>) -> Result<(Carrier, View<'a>), SkipReason> {
        match self {
            LinkType::Ethernet => Ok((Carrier::Ethernet, frame)),
            LinkType::RawIp => Ok((Carrier::Ip, frame)),
            LinkType::Loopback => loopback(frame),
            LinkType::Ppp => Ok((Carrier::Ppp, frame)),
            LinkType::PppSerial => serial(frame),
            LinkType::Pppoe => Ok((Carrier::EtherType(ethertype::PPPOE_SESSION), frame)),
            LinkType::LinuxCooked => cooked::<16>(frame, 14),
            LinkType::LinuxCooked2 => cooked::<20>(frame, 0),
            LinkType::Other(number) if is_encrypted(number, frame) => Err(SkipReason::Encrypted),
            LinkType::Other(_) => Err(SkipReason::LinkType),
        }
    }
}

/// The address family is 2 for IPv4 everywhere; for IPv6 each system has its own number.
/// Whether a frame of IEEE 802.11 (§9.2.4.1) is data whose Protected Frame bit is set, bare (105) or after a radiotap header (127).
fn is_encrypted(number: u16, frame: View<'_>) -> bool {
    let bytes = frame.bytes;
    let begin = match number {
        105 => Some(0),
        127 => bytes
            .get(2..4)
            .map(|two| usize::from(two[0]) | usize::from(two[1]) << 8),
        _ => None,
    };
    let control = begin.and_then(|at| bytes.get(at..)?.get(..2));
    control.is_some_and(|control| control[0] & 0x0c == 0x08 && control[1] & 0x40 != 0)
}

fn loopback(frame: View<'_>) -> Result<(Carrier, View<'_>), SkipReason> {
    let family = frame.bytes.first_chunk().ok_or(SkipReason::LinkCut)?;
    let big = u32::from_be_bytes(*family);
    // A family is a small number, so the byte order that makes it small is the right one.
    match big.min(big.swap_bytes()) {
        // AF_INET; AF_INET6 of Linux, Windows, NetBSD and OpenBSD, FreeBSD, Darwin.
        2 | 10 | 23 | 24 | 28 | 30 => {}
        _ => return Err(SkipReason::NotIp),
    }
    Ok((Carrier::Ip, frame.skip(4).ok_or(SkipReason::LinkCut)?))
}

/// LINKTYPE_PPP_HDLC: Cisco's framing (RFC 1547 §4.3.1) begins with 0x0f or 0x8f, PPP's with 0xff.
fn serial(frame: View<'_>) -> Result<(Carrier, View<'_>), SkipReason> {
    match frame.bytes.first_chunk::<4>() {
        Some(header @ [0x0f | 0x8f, ..]) => Ok((
            Carrier::EtherType(be16(header, 2)),
            frame.skip(4).ok_or(SkipReason::LinkCut)?,
        )),
        _ => Ok((Carrier::Ppp, frame)),
    }
}

fn cooked<const LEN: usize>(
    frame: View<'_>,
    protocol_at: usize,
) -> Result<(Carrier, View<'_>), SkipReason> {
    let header = frame.bytes.first_chunk::<LEN>();
    let protocol = be16(header.ok_or(SkipReason::LinkCut)?, protocol_at);
    let rest = frame.skip(LEN).ok_or(SkipReason::LinkCut)?;
    Ok((Carrier::EtherType(protocol), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{packet, whole};

    #[test]
    fn every_link_type_leads_to_the_same_packet() {
        let sll2 = [8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
        let sll = [0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
        let ethernet = [2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8, 0];
        let framings: [(u16, &[u8]); 18] = [
            (1, &ethernet),
            (101, &[]),
            (12, &[]),
            (14, &[]),
            (228, &[]),
            (0, &[2, 0, 0, 0]),
            (0, &[0, 0, 0, 2]),
            (108, &[0, 0, 0, 2]),
            (113, &sll),
            (276, &sll2),
            (9, &[0xff, 0x03, 0x00, 0x21]),
            (9, &[0x00, 0x21]),
            (9, &[0x21]),
            (50, &[0xff, 0x03, 0x00, 0x21]),
            (50, &[0x0f, 0x00, 0x08, 0x00]),
            (50, &[0x8f, 0x00, 0x08, 0x00]),
            (51, &[0x11, 0, 0, 1, 0, 59, 0x00, 0x21]),
            (9, &[0xff, 0x03, 0x02, 0x81, 0, 0, 1, 64]),
        ];
        for (number, framing) in framings {
            let header = whole(number, &[framing, &packet()].concat());
            let header = header.unwrap_or_else(|reason| panic!("{number} {framing:?}: {reason}"));
            assert_eq!(header.payload_len, 5, "{number} {framing:?}");
            assert_eq!(header.wire_len as usize, framing.len() + 57);
        }
    }

    #[test]
    fn other_link_types_and_short_frames_are_skipped_with_their_reason() {
        assert_eq!(LinkType::from(105), LinkType::Other(105));
        assert_eq!(whole(105, &packet()), Err(SkipReason::LinkType));
        for number in [0, 1, 9, 50, 51, 108, 113, 276] {
            assert_eq!(whole(number, &[]), Err(SkipReason::LinkCut), "{number}");
        }
        assert_eq!(whole(101, &[]), Err(SkipReason::IpCut));
        assert_eq!(whole(0, &[7, 0, 0, 0, 0x45]), Err(SkipReason::NotIp));
    }
}
