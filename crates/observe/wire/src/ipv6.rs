//! IPv6 and its extension headers.
//!
//! # References
//! - RFC 8200 §3 (header), §4 (extension headers), §4.5 (fragments); RFC 6946 (atomic fragments)
//! - RFC 2675 (jumbograms): a payload length of 0, as segmentation offload also leaves it
//!
//! # Where we differ
//! A jumbogram's length is taken from the record or the tunnel around it, not from its option.

use crate::ip::{AddressBits, Datagram, next};
use crate::view::{View, be16, be32, be64};
use crate::{PacketFlags, SkipReason};

/// Extension headers followed; RFC 8200 §4.1 knows of seven in their order.
const MAX_EXTENSIONS: usize = 16;

#[inline]
pub(crate) fn ipv6(view: View<'_>) -> Result<Datagram<'_>, SkipReason> {
    let header = view.bytes.first_chunk::<40>().ok_or(SkipReason::IpCut)?;
    if header[0] >> 4 != 6 {
        return Err(SkipReason::IpMalformed);
    }
    let body = view.skip(40).ok_or(SkipReason::IpCut)?;
    let protocol = header[6];
    let payload = match be16(header, 4) {
        0 if protocol != next::NONE => body,
        stated => body.stated(u32::from(stated)),
    };
    let datagram = Datagram {
        src: address(header, 8),
        dst: address(header, 24),
        protocol,
        tos: (be16(header, 0) >> 4) as u8,
        ip_id: 0,
        flags: PacketFlags(PacketFlags::IPV6),
        header_len: 40,
        payload,
    };
    if is_extension(protocol) {
        extensions(datagram)
    } else {
        Ok(datagram)
    }
}

fn is_extension(protocol: u8) -> bool {
    matches!(
        protocol,
        next::HOP_BY_HOP
            | next::ROUTING
            | next::FRAGMENT
            | next::AUTHENTICATION
            | next::DESTINATION
    )
}

#[inline(never)]
fn extensions(first: Datagram<'_>) -> Result<Datagram<'_>, SkipReason> {
    let mut datagram = first;
    for _ in 0..MAX_EXTENSIONS {
        if !is_extension(datagram.protocol) {
            return Ok(datagram);
        }
        if datagram.payload.len < 8 {
            return Err(SkipReason::IpMalformed);
        }
        let start = datagram.payload.bytes.first_chunk::<8>();
        let start = start.ok_or(SkipReason::IpCut)?;
        let len = match datagram.protocol {
            next::FRAGMENT => {
                fragment(&mut datagram, start)?;
                8
            }
            next::AUTHENTICATION => (u32::from(start[1]) + 2) * 4,
            _ => (u32::from(start[1]) + 1) * 8,
        };
        if len > datagram.payload.len {
            return Err(SkipReason::IpMalformed);
        }
        datagram.protocol = start[0];
        datagram.header_len += len;
        let rest = datagram.payload.skip(len as usize);
        datagram.payload = rest.ok_or(SkipReason::IpCut)?;
    }
    Err(SkipReason::IpMalformed)
}

/// The identification has 32 bits; its low half is kept, which is what tells neighbours apart.
fn fragment(datagram: &mut Datagram<'_>, header: &[u8; 8]) -> Result<(), SkipReason> {
    let field = be16(header, 2);
    if field >> 3 != 0 {
        return Err(SkipReason::LaterFragment);
    }
    if field & 1 != 0 {
        datagram.flags.set(PacketFlags::FIRST_FRAGMENT);
    }
    datagram.flags.set(PacketFlags::IP_ID);
    datagram.ip_id = be32(header, 4) as u16;
    Ok(())
}

#[inline]
fn address(header: &[u8; 40], at: usize) -> AddressBits {
    AddressBits(u128::from(be64(header, at)) << 64 | u128::from(be64(header, at + 8)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, cut, ipv6 as packet_of, tcp, whole};

    /// Hop-by-hop, routing, destination options and an atomic fragment before TCP.
    fn chained() -> Vec<u8> {
        let chain = [
            &[43, 0, 1, 4, 0, 0, 0, 0][..],
            &[60, 2, 0, 0, 0, 0, 0, 0],
            &[0; 16],
            &[44, 0, 1, 4, 0, 0, 0, 0],
            &[6, 0, 0, 0, 0, 0, 0xab, 0xcd],
            &tcp(ACK, &[], b"abcd"),
        ];
        packet_of(0, &chain.concat())
    }

    #[test]
    fn the_header_gives_addresses_and_class() {
        let header = whole(101, &packet_of(6, &tcp(ACK, &[], b"ab"))).unwrap();
        assert_eq!(header.src.to_string(), "2001:db8::1");
        assert_eq!(header.dst.to_string(), "2001:db8::2");
        assert_eq!((header.tos, header.payload_len), (0x2e, 2));
        assert_eq!((header.flags.0, header.ip_id), (PacketFlags::IPV6, 0));
    }

    #[test]
    fn extension_headers_are_walked_and_counted_as_header() {
        let header = whole(229, &chained()).unwrap();
        assert_eq!((header.protocol, header.payload_len), (6, 4));
        assert_eq!(header.header_len, 40 + 8 + 24 + 8 + 8 + 20);
        assert!(header.flags.has(PacketFlags::IP_ID) && header.ip_id == 0xabcd);
        assert!(!header.flags.has(PacketFlags::FIRST_FRAGMENT), "atomic");
    }

    #[test]
    fn fragments_are_told_apart() {
        let fragment = |low| {
            let header = [6, 0, 0, low, 0, 0, 0, 1];
            whole(
                101,
                &packet_of(44, &[&header, &tcp(ACK, &[], b"ab")[..]].concat()),
            )
        };
        let first = fragment(1).unwrap();
        assert!(first.flags.has(PacketFlags::FIRST_FRAGMENT));
        assert_eq!(fragment(9), Err(SkipReason::LaterFragment));
    }

    #[test]
    fn a_length_of_zero_means_the_record_s_unless_nothing_follows() {
        let mut offloaded = chained();
        offloaded[4..6].fill(0);
        assert_eq!(whole(101, &offloaded).unwrap().payload_len, 4);
        let mut empty = packet_of(next::NONE, &[0; 6]);
        empty[5] = 0;
        assert_eq!(whole(101, &empty).unwrap().payload_len, 0);
    }

    #[test]
    fn endless_or_overlong_chains_are_malformed_and_cut_ones_are_cut() {
        let endless = packet_of(60, &[60, 0, 1, 4, 0, 0, 0, 0].repeat(40));
        assert_eq!(whole(101, &endless), Err(SkipReason::IpMalformed));
        let overlong = packet_of(60, &[6, 9, 1, 4, 0, 0, 0, 0]);
        assert_eq!(whole(101, &overlong), Err(SkipReason::IpMalformed));
        for stored in 40..88 {
            assert_eq!(
                cut(101, &chained(), stored),
                Err(SkipReason::IpCut),
                "{stored}"
            );
        }
    }
}
