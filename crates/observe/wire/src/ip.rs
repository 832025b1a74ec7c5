//! IPv4, and what both versions give the transport layer.
//!
//! # References
//! - RFC 791 §3.1 (header), RFC 6864 (identification), RFC 4302 §2 (authentication header)
//!
//! # Where we differ
//! A total length of 0 is not refused: segmentation offload leaves it so in captures made on the
//! sending machine, and the record's length stands in.

use crate::view::{View, be16, be32};
use crate::{PacketFlags, SkipReason};

/// The octets of an [`crate::Address`] as a number. It stays in registers all the way into the hash and the
/// header, where an array of bytes would go through the stack and wait for it at every step.
#[derive(Clone, Copy)]
pub(crate) struct AddressBits(pub(crate) u128);

impl AddressBits {
    #[inline]
    pub(crate) fn octets(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

/// An IP packet whose transport header, or the first part of it, is in `payload`.
#[derive(Clone, Copy)]
pub(crate) struct Datagram<'a> {
    pub(crate) src: AddressBits,
    pub(crate) dst: AddressBits,
    pub(crate) protocol: u8,
    pub(crate) tos: u8,
    pub(crate) ip_id: u16,
    pub(crate) flags: PacketFlags,
    /// Options and extension headers included.
    pub(crate) header_len: u32,
    pub(crate) payload: View<'a>,
}

/// Protocol numbers that carry or hide another header.
pub(crate) mod next {
    pub(crate) const HOP_BY_HOP: u8 = 0;
    pub(crate) const IPV4: u8 = 4;
    pub(crate) const IPV6: u8 = 41;
    pub(crate) const ROUTING: u8 = 43;
    pub(crate) const FRAGMENT: u8 = 44;
    pub(crate) const GRE: u8 = 47;
    pub(crate) const ESP: u8 = 50;
    pub(crate) const AUTHENTICATION: u8 = 51;
    pub(crate) const NONE: u8 = 59;
    pub(crate) const DESTINATION: u8 = 60;
    pub(crate) const MPLS: u8 = 137;
}

#[inline]
pub(crate) fn ipv4(view: View<'_>) -> Result<Datagram<'_>, SkipReason> {
    let header = view.bytes.first_chunk::<20>().ok_or(SkipReason::IpCut)?;
    let header_len = u32::from(header[0] & 0x0f) * 4;
    let total = match be16(header, 2) {
        0 => view.len,
        stated => u32::from(stated),
    };
    if header[0] >> 4 != 4 || header_len < 20 || total < header_len {
        return Err(SkipReason::IpMalformed);
    }
    let payload = view.stated(total).skip(header_len as usize);
    let datagram = Datagram {
        src: mapped(header, 12),
        dst: mapped(header, 16),
        protocol: header[9],
        tos: header[1],
        ip_id: be16(header, 4),
        flags: PacketFlags(PacketFlags::IP_ID | first_fragment(be16(header, 6))?),
        header_len,
        payload: payload.ok_or(SkipReason::IpCut)?,
    };
    match datagram.protocol {
        next::AUTHENTICATION => authenticated(datagram),
        _ => Ok(datagram),
    }
}

/// `FIRST_FRAGMENT` or nothing, out of the flags and the offset.
#[inline]
fn first_fragment(field: u16) -> Result<u16, SkipReason> {
    const MORE: u16 = 0x2000;
    const OFFSET: u16 = 0x1fff;
    if field & (MORE | OFFSET) == 0 {
        Ok(0)
    } else if field & OFFSET == 0 {
        Ok(PacketFlags::FIRST_FRAGMENT)
    } else {
        Err(SkipReason::LaterFragment)
    }
}

/// Steps over an authentication header, which leaves what it signs readable.
#[cold]
fn authenticated(datagram: Datagram<'_>) -> Result<Datagram<'_>, SkipReason> {
    let [protocol, words] = *datagram
        .payload
        .bytes
        .first_chunk()
        .ok_or(SkipReason::IpCut)?;
    let len = (u32::from(words) + 2) * 4;
    if len > datagram.payload.len {
        return Err(SkipReason::IpMalformed);
    }
    let payload = datagram.payload.skip(len as usize);
    Ok(Datagram {
        protocol,
        header_len: datagram.header_len + len,
        payload: payload.ok_or(SkipReason::IpCut)?,
        ..datagram
    })
}

#[inline]
fn mapped(header: &[u8; 20], at: usize) -> AddressBits {
    AddressBits(0xffff_0000_0000 | u128::from(be32(header, at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, cut, ethernet, ipv4 as packet_of, packet, tcp, udp, whole};
    use crate::{Address, SkipReason};

    #[test]
    fn the_header_gives_addresses_class_and_identification() {
        let header = whole(101, &packet()).unwrap();
        assert_eq!(header.src, Address::v4([10, 0, 0, 2]));
        assert_eq!(header.dst, Address::v4([192, 0, 2, 1]));
        assert_eq!((header.tos, header.ip_id), (0x2e, 0x1234));
        assert!(header.flags.has(PacketFlags::IP_ID));
        assert_eq!(header.header_len, 52);
    }

    #[test]
    fn padding_is_no_payload_and_options_are_header() {
        let mut padded = ethernet(0x0800, &packet_of(6, &tcp(ACK, &[], &[])));
        padded.resize(60, 0);
        assert_eq!(whole(1, &padded).unwrap().payload_len, 0);
        let mut with_options = packet();
        with_options.splice(20..20, [1; 8]);
        (with_options[0], with_options[3]) = (0x47, 65);
        let header = whole(101, &with_options).unwrap();
        assert_eq!((header.payload_len, header.header_len), (5, 60));
    }

    #[test]
    fn a_total_length_of_zero_means_the_record_s() {
        let mut offloaded = packet();
        offloaded[2..4].fill(0);
        let header = cut(1, &ethernet(0x0800, &offloaded), 66).unwrap();
        assert_eq!(header.payload_len, 5);
    }

    #[test]
    fn only_the_first_fragment_has_a_transport_header() {
        let mut first = packet_of(17, &udp(1000, 2000, &[0; 32]));
        first[6..8].copy_from_slice(&[0x20, 0]);
        first[25] = 200;
        let header = whole(101, &first).unwrap();
        assert!(header.flags.has(PacketFlags::FIRST_FRAGMENT));
        assert_eq!(
            header.payload_len, 192,
            "as UDP tells for the whole datagram"
        );
        first[7] = 1;
        assert_eq!(whole(101, &first), Err(SkipReason::LaterFragment));
    }

    #[test]
    fn contradictions_are_malformed_and_missing_bytes_are_cut() {
        for (at, value) in [(0, 0x65), (0, 0x44), (3, 19), (0, 0x4f)] {
            let mut wrong = packet();
            wrong[3] = 30;
            wrong[at] = value;
            let found = whole(1, &ethernet(0x0800, &wrong));
            assert_eq!(found, Err(SkipReason::IpMalformed), "{at} {value:#x}");
        }
        assert_eq!(cut(101, &packet(), 19), Err(SkipReason::IpCut));
    }

    #[test]
    fn an_authentication_header_is_stepped_over_and_esp_is_opaque() {
        let segment = tcp(ACK, &[], b"abc");
        let signed = [
            &[6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1][..],
            &[9; 12],
            &segment,
        ]
        .concat();
        let header = whole(101, &packet_of(51, &signed)).unwrap();
        assert_eq!((header.protocol, header.payload_len), (6, 3));
        assert_eq!(header.header_len, 20 + 24 + 20);
        assert_eq!(whole(101, &packet_of(50, &signed)), Err(SkipReason::Opaque));
    }
}
