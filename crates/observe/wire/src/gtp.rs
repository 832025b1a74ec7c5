//! GTP-U: the tunnel between base station and gateway in mobile networks.
//!
//! # References
//! - 3GPP TS 29.281 §5.1 (header), §5.2 (extension headers), §6.1 (message types)
//! - 3GPP TS 38.415 §5.5.2 (PDU session container)
//!
//! # Where we differ
//! Ports prove nothing: a phone may itself send to port 2152, inside the tunnel or outside. Bytes
//! count as GTP-U only if version, type and the length (exactly the datagram's) agree; else the
//! datagram stays what it is, UDP.

use crate::view::{View, be16};
use crate::{PacketFlags, SkipReason};

const HEADER: u32 = 8;
const G_PDU: u8 = 255;
const PDU_SESSION_CONTAINER: u8 = 0x85;
/// One of the next three flags is set: four optional bytes follow.
const ANY_OPTIONAL: u8 = 0x07;
const HAS_EXTENSIONS: u8 = 0x04;

/// The user's packet, with `PacketFlags` bits of the tunnel; `None` if this is no GTP-U.
#[inline]
pub(crate) fn user_packet(payload: View<'_>) -> Result<Option<(View<'_>, u16)>, SkipReason> {
    if payload.len < HEADER {
        return Ok(None);
    }
    let header = payload.bytes.first_chunk::<8>().ok_or(SkipReason::IpCut)?;
    let version_1 = header[0] & 0xf8 == 0x30;
    if !version_1 || u32::from(be16(header, 2)) + HEADER != payload.len {
        return Ok(None);
    }
    match header[1] {
        G_PDU => {}
        // Echo request and response, error indication, extension headers notification, tunnel
        // status, end marker.
        1 | 2 | 26 | 31 | 253 | 254 => return Err(SkipReason::GtpSignalling),
        _ => return Ok(None),
    }
    let body = payload.skip(HEADER as usize).ok_or(SkipReason::IpCut)?;
    let (inner, flags) = past_optional(header[0], body)?;
    match inner.bytes.first() {
        Some(first) if matches!(first >> 4, 4 | 6) => Ok(Some((inner, flags))),
        // Counted, not taken for a flow between the tunnel's ends.
        Some(_) => Err(SkipReason::TunnelMalformed),
        None if inner.len == 0 => Ok(None),
        None => Err(SkipReason::IpCut),
    }
}

/// Steps over sequence number, N-PDU number and extension headers. One flag among three is enough
/// for all four bytes to be there, and only the extension flag gives the last one a meaning.
#[inline]
fn past_optional(flags: u8, body: View<'_>) -> Result<(View<'_>, u16), SkipReason> {
    let mut tunnel = PacketFlags::GTP;
    if flags & ANY_OPTIONAL == 0 {
        return Ok((body, tunnel));
    }
    let optional = body.bytes.first_chunk::<4>().ok_or(cut(body, 4))?;
    let mut kind = match flags & HAS_EXTENSIONS {
        0 => 0,
        _ => optional[3],
    };
    let mut rest = body.skip(4).ok_or(SkipReason::IpCut)?;
    while kind != 0 {
        let &[words, content] = rest.bytes.first_chunk::<2>().ok_or(cut(rest, 2))?;
        let len = usize::from(words) * 4;
        let last = len.checked_sub(1).ok_or(SkipReason::TunnelMalformed)?;
        if kind == PDU_SESSION_CONTAINER {
            tunnel |= direction(content >> 4);
        }
        kind = *rest.bytes.get(last).ok_or(cut(rest, len))?;
        rest = rest.skip(len).ok_or(SkipReason::IpCut)?;
    }
    Ok((rest, tunnel))
}

fn direction(pdu_type: u8) -> u16 {
    match pdu_type {
        0 => PacketFlags::TUNNEL_DOWNLINK,
        1 => PacketFlags::TUNNEL_UPLINK,
        _ => 0,
    }
}

/// Why `need` bytes are not there: never sent, or not captured.
fn cut(view: View<'_>, need: usize) -> SkipReason {
    if (view.len as usize) < need {
        SkipReason::TunnelMalformed
    } else {
        SkipReason::IpCut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cut, ipv4, packet, udp, whole};
    use crate::{PacketHeader, protocol};

    fn tunnel(flags: u8, kind: u8, content: &[u8]) -> Vec<u8> {
        let [high, low] = (content.len() as u16).to_be_bytes();
        let gtp = [&[flags, kind, high, low, 0, 0, 0, 1], content].concat();
        ipv4(protocol::UDP, &udp(2152, 2152, &gtp))
    }

    fn user(flags: u8, optional: &[u8]) -> PacketHeader {
        whole(101, &tunnel(flags, G_PDU, &[optional, &packet()].concat())).unwrap()
    }

    #[test]
    fn the_user_s_packet_comes_out_whatever_the_optional_fields() {
        for (flags, optional) in [
            (0x30, &[][..]),
            (0x31, &[0, 0, 7, 0x85]),
            (0x32, &[0, 5, 0, 0]),
            (0x34, &[0, 0, 0, 0]),
            (0x36, &[0, 5, 0, 0xc0, 1, 0, 9, 0]),
            (
                0x34,
                &[0, 0, 0, 0x40, 2, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 9, 0],
            ),
        ] {
            let header = user(flags, optional);
            assert_eq!(
                (header.protocol, header.payload_len),
                (6, 5),
                "{optional:?}"
            );
            assert!(header.flags.has(PacketFlags::GTP));
            assert_eq!(header.src.to_string(), "10.0.0.2");
        }
    }

    #[test]
    fn the_session_container_says_the_direction() {
        let downlink = user(0x34, &[0, 0, 0, 0x85, 1, 0x00, 9, 0]).flags;
        assert!(downlink.has(PacketFlags::TUNNEL_DOWNLINK));
        assert!(!downlink.has(PacketFlags::TUNNEL_UPLINK));
        let uplink = user(0x34, &[0, 0, 0, 0x85, 1, 0x10, 9, 0]).flags;
        assert!(uplink.has(PacketFlags::TUNNEL_UPLINK));
        assert!(!uplink.has(PacketFlags::TUNNEL_DOWNLINK));
    }

    #[test]
    fn what_only_looks_like_a_tunnel_stays_udp() {
        let mut wrong_length = tunnel(0x30, G_PDU, &packet());
        wrong_length[31] += 1;
        let wrong_version = tunnel(0x50, G_PDU, &packet());
        let wrong_type = tunnel(0x30, 99, &packet());
        let short = ipv4(protocol::UDP, &udp(2152, 2152, &[0x30, 255, 0]));
        for packet in [wrong_length, wrong_version, wrong_type, short] {
            let header = whole(101, &packet).unwrap();
            assert_eq!((header.protocol, header.dst_port), (protocol::UDP, 2152));
            assert!(!header.flags.has(PacketFlags::GTP));
        }
    }

    #[test]
    fn a_damaged_packet_in_a_tunnel_is_no_flow_between_its_ends() {
        let damaged = tunnel(0x30, G_PDU, &[0x75; 60]);
        assert_eq!(whole(101, &damaged), Err(SkipReason::TunnelMalformed));
    }

    #[test]
    fn the_gtp_port_inside_the_tunnel_is_a_port_like_any_other() {
        let inner = ipv4(protocol::UDP, &udp(2152, 2152, b"not a tunnel"));
        let header = whole(101, &tunnel(0x30, G_PDU, &inner)).unwrap();
        assert_eq!((header.protocol, header.payload_len), (protocol::UDP, 12));
        assert!(header.flags.has(PacketFlags::GTP));
    }

    #[test]
    fn signalling_and_broken_extensions_are_skipped_with_their_reason() {
        for kind in [1, 2, 26, 31, 254] {
            let message = whole(101, &tunnel(0x32, kind, &[0; 8]));
            assert_eq!(message, Err(SkipReason::GtpSignalling), "{kind}");
        }
        let empty_extension = tunnel(0x34, G_PDU, &[0, 0, 0, 0x85, 0, 0, 0, 0]);
        assert_eq!(
            whole(101, &empty_extension),
            Err(SkipReason::TunnelMalformed)
        );
        let overlong_extension = tunnel(0x34, G_PDU, &[0, 0, 0, 0x85, 9, 0, 0, 0]);
        assert_eq!(
            whole(101, &overlong_extension),
            Err(SkipReason::TunnelMalformed)
        );
    }

    #[test]
    fn a_cut_or_fragmented_tunnel_keeps_the_user_s_lengths() {
        let mut frame = tunnel(0x30, G_PDU, &packet());
        assert_eq!(cut(101, &frame, 36 + 36).unwrap().payload_len, 5);
        for stored in 28..56 {
            assert_eq!(cut(101, &frame, stored), Err(SkipReason::IpCut), "{stored}");
        }
        // The outer packet's first fragment ends eight bytes before the user's packet.
        frame[6] = 0x20;
        frame[3] -= 8;
        let header = whole(101, &frame).unwrap();
        assert_eq!(header.payload_len, 5);
        assert!(
            !header.flags.has(PacketFlags::FIRST_FRAGMENT),
            "not the user's"
        );
    }
}
