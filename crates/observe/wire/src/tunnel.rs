//! Tunnels directly in IP or in UDP that carry frames or packets: GRE and VXLAN.
//!
//! # References
//! - RFC 2784 §2, RFC 2890 §2 (GRE, its key and sequence number), RFC 2637 §4.1 (PPTP's version 1)
//! - RFC 7348 §5 (VXLAN)

use crate::SkipReason;
use crate::frame::Carrier;
use crate::view::{View, be16};

/// Steps over a GRE header; its protocol field is an Ethernet type.
pub(crate) fn gre(view: View<'_>) -> Result<(Carrier, View<'_>), SkipReason> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGMENT: u16 = 0x0080;
    const VERSION: u16 = 0x0007;
    let header = view.bytes.first_chunk::<4>().ok_or(SkipReason::IpCut)?;
    let flags = be16(header, 0);
    let words = |mask: u16| (flags & mask).count_ones() as usize;
    let optional = match flags & VERSION {
        // RFC 2784 does away with source routes, whose length one would have to walk.
        0 if flags & ROUTING == 0 => words(CHECKSUM | KEY | SEQUENCE),
        1 => words(KEY | SEQUENCE | ACKNOWLEDGMENT),
        _ => return Err(SkipReason::TunnelMalformed),
    };
    let inner = view.skip(4 + 4 * optional).ok_or(SkipReason::IpCut)?;
    Ok((Carrier::EtherType(be16(header, 2)), inner))
}

/// The Ethernet frame in a VXLAN datagram; `None` if the flag that a network number must have is
/// not set, so that this is some other use of the port.
pub(crate) fn vxlan(payload: View<'_>) -> Result<Option<View<'_>>, SkipReason> {
    const HAS_NETWORK: u8 = 0x08;
    if payload.len < 8 {
        return Ok(None);
    }
    let header = payload.bytes.first_chunk::<8>();
    let header = header.ok_or(SkipReason::LinkCut)?;
    match header[0] & HAS_NETWORK {
        0 => Ok(None),
        _ => Ok(payload.skip(8)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ethernet, ipv4, ipv6, packet, udp, whole};

    #[test]
    fn gre_with_any_of_its_fields_leads_to_the_packet() {
        let bridged = [&[0, 0, 0x65, 0x58][..], &ethernet(0x0800, &[])].concat();
        for header in [
            &[0, 0, 8, 0][..],
            &[0x80, 0, 8, 0, 1, 2, 0, 0],
            &[0x20, 0, 8, 0, 0, 0, 0, 1],
            &[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2],
            &[0, 0, 0x88, 0x47, 0, 0, 1, 64],
            &[
                0x30, 0x81, 0x88, 0x0b, 0, 61, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0xff, 3, 0, 0x21,
            ],
            &bridged,
        ] {
            let found = whole(101, &ipv4(47, &[header, &packet()].concat()));
            assert_eq!(found.map(|h| h.payload_len), Ok(5), "{header:?}");
        }
    }

    #[test]
    fn gre_of_unknown_layout_is_malformed() {
        for flags in [[0x40, 0], [0, 2]] {
            let header = [flags[0], flags[1], 8, 0];
            let found = whole(101, &ipv4(47, &[&header, &packet()[..]].concat()));
            assert_eq!(found, Err(SkipReason::TunnelMalformed));
        }
    }

    #[test]
    fn vxlan_leads_to_the_frame_and_a_foreign_use_of_its_port_stays_udp() {
        let frame = ethernet(0x0800, &packet());
        let datagram = |flags| {
            let content = [&[flags, 0, 0, 0, 0, 0, 7, 0], &frame[..]].concat();
            whole(101, &ipv4(17, &udp(55_555, 4789, &content))).unwrap()
        };
        assert_eq!((datagram(8).protocol, datagram(8).payload_len), (6, 5));
        let foreign = datagram(0);
        assert_eq!((foreign.protocol, foreign.payload_len), (17, 8 + 14 + 57));
    }

    #[test]
    fn ip_in_ip_is_followed_to_a_depth_and_no_further() {
        let mut nested = packet();
        for depth in 1..=8 {
            let found = whole(101, &nested).map(|header| header.payload_len);
            assert_eq!(found, Ok(5), "{depth} deep");
            nested = if depth % 2 == 0 {
                ipv6(4, &nested)
            } else {
                ipv4(if depth == 1 { 4 } else { 41 }, &nested)
            };
        }
        assert_eq!(whole(101, &nested), Err(SkipReason::TunnelDepth));
    }
}
