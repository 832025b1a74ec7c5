//! The UDP header (RFC 768), and what the first byte of a payload says where it is QUIC's.

use crate::tcp::Transport;
use crate::view::{View, be16};
use crate::{PacketFlags, SkipReason};

const HEADER: u32 = 8;

/// The length field counts the whole datagram even in its first fragment. Where it is 0
/// (RFC 2675 §4, and segmentation offload) or more than IP carried, IP's length stands in.
#[inline]
pub(crate) fn udp(view: View<'_>, ip_flags: PacketFlags) -> Result<Transport<'_>, SkipReason> {
    if view.len < HEADER {
        return Err(SkipReason::TransportMalformed);
    }
    let header = view.bytes.first_chunk::<8>();
    let header = header.ok_or(SkipReason::TransportCut)?;
    let fragment = ip_flags.has(PacketFlags::FIRST_FRAGMENT);
    let len = match u32::from(be16(header, 4)) {
        0 => view.len,
        1..HEADER => return Err(SkipReason::TransportMalformed),
        stated if stated <= view.len || fragment => stated,
        _ => view.len,
    };
    let payload = view.stated(len).skip(HEADER as usize);
    let payload = payload.ok_or(SkipReason::TransportCut)?;
    Ok(Transport {
        src_port: be16(header, 0),
        dst_port: be16(header, 2),
        header_len: HEADER,
        flags: PacketFlags(quic(payload.bytes, [be16(header, 0), be16(header, 2)])),
        payload,
        ..Transport::default()
    })
}

/// Flags of a payload that begins as a packet of QUIC does, of any version: RFC 8999 §5.1 for long headers.
#[inline]
fn quic(payload: &[u8], ports: [u16; 2]) -> u16 {
    const LONG: u8 = 0x80;
    const FIXED: u8 = 0x40;
    const SPIN: u8 = 0x20;
    let first = payload.first().copied().unwrap_or(0);
    match first & (LONG | FIXED) {
        FIXED if first & SPIN != 0 => PacketFlags::QUIC_SHORT | PacketFlags::SPIN,
        FIXED => PacketFlags::QUIC_SHORT,
        0xc0 if !ports.contains(&DNS) && has_long_header(payload) => PacketFlags::QUIC_LONG,
        _ => 0,
    }
}

/// A message of DNS may begin as one of QUIC.
const DNS: u16 = 53;

/// A version that is not that of negotiation, and two connection identifiers.
fn has_long_header(payload: &[u8]) -> bool {
    // Versions so far end here (RFC 9000 §17.2).
    const LONGEST_ID: usize = 20;
    let version = payload.get(1..5);
    let id_at = |at: usize| payload.get(at).map(|&len| usize::from(len));
    let destination = id_at(5).filter(|&len| len <= LONGEST_ID);
    let source = destination.and_then(|len| id_at(6 + len));
    version.is_some_and(|version| version != [0; 4]) && source.is_some_and(|len| len <= LONGEST_ID)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cut, ipv4, udp as datagram_of, whole};

    /// The payload length when the length field says `stated` and IP carries 20 bytes for it.
    fn payload_len(stated: u8) -> Result<u32, SkipReason> {
        let mut packet = ipv4(17, &datagram_of(1000, 2000, &[0; 12]));
        packet[25] = stated;
        whole(101, &packet).map(|header| header.payload_len)
    }

    #[test]
    fn the_length_field_counts_unless_it_is_zero_or_beyond_ip() {
        assert_eq!(payload_len(20), Ok(12));
        assert_eq!(payload_len(15), Ok(7));
        assert_eq!(payload_len(0), Ok(12));
        assert_eq!(payload_len(21), Ok(12));
        assert_eq!(payload_len(7), Err(SkipReason::TransportMalformed));
    }

    #[test]
    fn the_first_byte_tells_headers_of_quic_and_their_spin_bit() {
        let of = |payload: &[u8]| {
            let packet = ipv4(17, &datagram_of(1000, 443, payload));
            let flags = whole(101, &packet).unwrap().flags;
            [
                PacketFlags::QUIC_LONG,
                PacketFlags::QUIC_SHORT,
                PacketFlags::SPIN,
            ]
            .map(|f| flags.has(f))
        };
        for version in [[0, 0, 0, 1], [0x6b, 0x33, 0x43, 0xcf], [0xff, 0, 0, 29]] {
            let header = [&[0xc3][..], &version, &[2, 8, 9, 0]].concat();
            assert_eq!(of(&header), [true, false, false], "{version:?}");
        }
        // A negotiation of versions, an identifier that is too long, and headers that end before their identifiers.
        assert_eq!(of(&[0xc3, 0, 0, 0, 0, 0, 0]), [false; 3]);
        assert_eq!(of(&[0xc3, 0, 0, 0, 1, 21, 0]), [false; 3]);
        assert_eq!(of(&[0xc3, 0, 0, 0, 1, 2, 8, 9]), [false; 3]);
        assert_eq!(of(&[0xc3, 0, 0, 0]), [false; 3]);
        assert_eq!(of(&[0x5f]), [false, true, false]);
        assert_eq!(of(&[0x60]), [false, true, true]);
        assert_eq!(of(&[0x20, 1]), [false; 3]);
        assert_eq!(of(&[]), [false; 3]);
    }

    #[test]
    fn ports_are_read_and_a_cut_header_is_skipped() {
        let packet = ipv4(17, &datagram_of(1000, 2000, &[0; 12]));
        let header = cut(101, &packet, 28).unwrap();
        assert_eq!((header.src_port, header.dst_port), (1000, 2000));
        assert_eq!((header.payload_len, header.header_len), (12, 28));
        assert_eq!(cut(101, &packet, 27), Err(SkipReason::TransportCut));
    }
}
