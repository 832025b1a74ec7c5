//! Long header packets of QUIC versions 1 and 2 (RFC 9000 §17.2, RFC 9369 §3.2).

use crate::cursor::Cursor;

/// A version whose Initial packets can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicVersion {
    /// RFC 9000.
    V1,
    /// RFC 9369: version 1 with other numbers.
    V2,
}

impl QuicVersion {
    fn from_number(number: u32) -> Option<QuicVersion> {
        match number {
            1 => Some(QuicVersion::V1),
            0x6b33_43cf => Some(QuicVersion::V2),
            _ => None,
        }
    }

    fn packet_type(self, bits: u8) -> PacketType {
        // RFC 9369 §3.2 moves every type by one.
        let bits = match self {
            QuicVersion::V1 => bits,
            QuicVersion::V2 => bits.wrapping_sub(1),
        };
        match bits & 3 {
            0 => PacketType::Initial,
            3 => PacketType::Retry,
            _ => PacketType::Other,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PacketType {
    Initial,
    /// 0-RTT and Handshake.
    Other,
    Retry,
}

/// An Initial packet, protected, perhaps cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitialPacket<'a> {
    pub(crate) version: QuicVersion,
    /// Destination connection ID, at most 20 bytes.
    pub(crate) dcid: &'a [u8],
    /// The visible bytes from the first of the header, up to the packet's end.
    pub(crate) bytes: &'a [u8],
    /// Where the packet number is.
    pub(crate) number_at: usize,
    /// Bytes of the whole packet as sent.
    pub(crate) sent_len: usize,
}

/// The visible Initial packets at the front of a datagram (RFC 9000 §12.2), other long header
/// packets passed over.
pub(crate) fn initial_packets(datagram: &[u8]) -> impl Iterator<Item = InitialPacket<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        loop {
            let (kind, packet) = read_packet(rest)?;
            rest = &rest[packet.bytes.len()..];
            if kind == PacketType::Initial {
                return Some(packet);
            }
        }
    })
}

fn read_packet(bytes: &[u8]) -> Option<(PacketType, InitialPacket<'_>)> {
    let mut cursor = Cursor::new(bytes);
    let first = cursor.u8()?;
    let is_long = first & 0xc0 == 0xc0;
    let version = QuicVersion::from_number(cursor.u32()?)?;
    let kind = version.packet_type(first >> 4 & 3);
    let dcid = connection_id(&mut cursor)?;
    connection_id(&mut cursor)?;
    // A Retry has no length, and nothing follows it.
    if !is_long || kind == PacketType::Retry {
        return None;
    }
    if kind == PacketType::Initial {
        let token_len = cursor.varint_len()?;
        cursor.take(token_len)?;
    }
    let len = cursor.varint_len()?;
    let number_at = bytes.len() - cursor.rest().len();
    let visible = number_at + cursor.take_visible(len).len();
    let packet = InitialPacket {
        version,
        dcid,
        bytes: &bytes[..visible],
        number_at,
        sent_len: number_at.saturating_add(len),
    };
    Some((kind, packet))
}

fn connection_id<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let len = usize::from(cursor.u8()?);
    if len > 20 {
        return None;
    }
    cursor.take(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDSHAKE: &[u8] = b"\xe0\0\0\0\x01\x01a\0\x03xyz";
    const INITIAL: &[u8] = b"\xc0\0\0\0\x01\x02ab\x01s\x03tok\x05hello";

    #[test]
    fn coalesced_packets_are_told_apart() {
        let datagram = [HANDSHAKE, INITIAL, INITIAL, &[0; 9]].concat();
        let packets: Vec<_> = initial_packets(&datagram).collect();
        assert_eq!(packets.len(), 2);
        for packet in packets {
            assert_eq!((packet.dcid, packet.bytes), (b"ab".as_slice(), INITIAL));
            assert_eq!(&packet.bytes[packet.number_at..], b"hello");
            assert_eq!(packet.sent_len, INITIAL.len());
        }
    }

    #[test]
    fn a_cut_packet_tells_how_long_it_was() {
        let packet = initial_packets(&INITIAL[..INITIAL.len() - 2])
            .next()
            .unwrap();
        assert_eq!(
            (packet.bytes.len(), packet.sent_len),
            (INITIAL.len() - 2, INITIAL.len())
        );
    }

    #[test]
    fn version_2_numbers_its_types_otherwise() {
        let retyped = |first: u8| {
            let tail = b"\x6b\x33\x43\xcf\x01a\0\0\x01x";
            initial_packets(&[&[first], tail.as_slice()].concat()).count()
        };
        assert_eq!([0xc0, 0xd0, 0xe0, 0xf0].map(retyped), [0, 1, 0, 0]);
    }

    #[test]
    fn other_versions_and_short_headers_are_no_initial_packets() {
        for bytes in [
            b"\xc0\xff\0\0\x1d\x01a\0\0\x01x".as_slice(),
            b"\x40\0\0\0\x01\x01a\0\0\x01x",
            b"",
        ] {
            assert_eq!(initial_packets(bytes).count(), 0);
        }
    }
}
