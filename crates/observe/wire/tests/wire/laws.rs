//! What holds for all bytes, and for all valid packets.

use crate::packets::{ETHERNET, packets, parse};
use proptest::prelude::*;
use unbloat_wire::{LinkType, PacketFlags};

/// Every link type that is read, and one that is not.
const LINKS: [u16; 13] = [0, 1, 9, 12, 14, 50, 51, 101, 105, 108, 113, 228, 276];

/// Beginnings that lead random bytes deep into the parser instead of being turned away at once.
const STARTS: [&[u8]; 10] = [
    &[],
    &[2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8, 0, 0x45],
    &[2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 0x86, 0xdd, 0x60],
    &[2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 0x88, 0x47],
    &[2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 0x88, 0x64, 0x11, 0],
    &[0x46, 0, 0, 90, 0, 0, 0, 0, 64, 6],
    &[0x45, 0, 0, 90, 0, 0, 0, 0, 64, 47],
    &[
        0x45, 0, 0, 90, 0, 0, 0, 0, 64, 41, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0x60,
    ],
    &[
        0x45, 0, 0, 90, 0, 0, 0, 0, 64, 17, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 8, 104, 8, 104, 0, 70, 0,
        0, 0x37, 255, 0, 54,
    ],
    &[
        0x60, 0, 0, 0, 0, 90, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_bytes_panic_whatever_the_link_type(
        start in proptest::sample::select(&STARTS[..]),
        rest in proptest::collection::vec(any::<u8>(), 0..200),
        wire_len: u32,
    ) {
        let bytes = [start, &rest].concat();
        for link in LINKS {
            if let Ok(header) = parse(LinkType::from(link), &bytes, wire_len) {
                prop_assert!(usize::from(header.extra_len) <= bytes.len());
                prop_assert!(u16::from(header.options_len) <= header.extra_len);
            }
        }
    }

    #[test]
    fn one_changed_byte_of_a_valid_packet_does_not_panic(
        packet in packets(), at: proptest::sample::Index, value: u8,
    ) {
        let mut bytes = packet.bytes;
        let at = at.index(bytes.len().min(80));
        bytes[at] = value;
        let wire_len = bytes.len() as u32;
        for link in LINKS {
            let header = parse(LinkType::from(link), &bytes, wire_len);
            prop_assert!(header.is_err() || header.is_ok_and(|h| h.wire_len == wire_len));
        }
    }

    #[test]
    fn a_prefix_gives_the_whole_packet_s_lengths_and_ends_or_nothing(packet in packets()) {
        let wire_len = packet.bytes.len() as u32;
        let whole = parse(ETHERNET, &packet.bytes, wire_len).unwrap();
        prop_assert_eq!(whole.payload_len, packet.payload_len);
        for stored in 0..packet.bytes.len() {
            if let Ok(cut) = parse(ETHERNET, &packet.bytes[..stored], wire_len) {
                prop_assert_eq!(cut.payload_len, whole.payload_len);
                prop_assert_eq!(cut.header_len, whole.header_len);
                prop_assert_eq!(cut.flow_hash, whole.flow_hash);
                prop_assert_eq!((cut.seq, cut.window), (whole.seq, whole.window));
                let same_options = (cut.tsval, cut.options_len) == (whole.tsval, whole.options_len);
                prop_assert!(same_options || cut.flags.has(PacketFlags::HEADER_CUT));
            }
        }
    }
}
