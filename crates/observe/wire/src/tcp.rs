//! The TCP header.
//!
//! # References
//! - RFC 9293 §3.1 (header), RFC 7323 §3.2 and appendix A (timestamps, their usual layout)
//!
//! # Where we differ
//! A capture may end within the header. From 16 bytes on, ports, sequence numbers, flags and window
//! are all there, and the packet counts with `HEADER_CUT`; with fewer it is skipped, since a window
//! or a flag byte of zero would be read as one.

use crate::options::{TcpOption, TcpOptions};
use crate::view::{View, be16, be32};
use crate::{PacketFlags, SkipReason, TcpFlags};
use unbloat_units::Seq;

/// A transport header of any protocol: what a protocol does not have is zero.
#[derive(Clone, Copy, Default)]
pub(crate) struct Transport<'a> {
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) seq: Seq,
    pub(crate) ack: Seq,
    pub(crate) tsval: Seq,
    pub(crate) tsecr: Seq,
    pub(crate) window: u16,
    pub(crate) tcp_flags: TcpFlags,
    pub(crate) flags: PacketFlags,
    pub(crate) header_len: u32,
    /// TCP options for the slow path.
    pub(crate) options: &'a [u8],
    pub(crate) payload: View<'a>,
}

impl<'a> Transport<'a> {
    /// Of a protocol whose header is not read: all above IP is payload.
    pub(crate) fn portless(payload: View<'a>) -> Transport<'a> {
        Transport {
            payload,
            ..Transport::default()
        }
    }
}

/// Bytes up to and including the window.
const FIXED: usize = 16;
/// NOP, NOP, timestamps: how every common system lays the option out (RFC 7323 appendix A).
pub(crate) const PADDED_TIMESTAMPS: u32 = 0x0101_080a;

#[inline]
pub(crate) fn tcp(view: View<'_>, ip_flags: PacketFlags) -> Result<Transport<'_>, SkipReason> {
    let header = view.bytes.first_chunk::<FIXED>().ok_or(too_short(view))?;
    let header_len = u32::from(header[12] >> 4) * 4;
    // The rest of a header may be in the next fragment.
    let whole = header_len <= view.len || ip_flags.has(PacketFlags::FIRST_FRAGMENT);
    if header_len < 20 || !whole {
        return Err(SkipReason::TransportMalformed);
    }
    let mut segment = Transport {
        src_port: be16(header, 0),
        dst_port: be16(header, 2),
        seq: Seq::new(be32(header, 4)),
        ack: Seq::new(be32(header, 8)),
        tcp_flags: TcpFlags(header[13]),
        window: be16(header, 14),
        header_len,
        ..Transport::default()
    };
    match view.bytes.first_chunk::<32>() {
        Some(all) if is_common(all) => {
            segment.flags.set(PacketFlags::TIMESTAMPS);
            segment.tsval = Seq::new(be32(all, 24));
            segment.tsecr = Seq::new(be32(all, 28));
        }
        _ if header_len > 20 => other_options(&mut segment, view),
        _ if view.bytes.len() < 20 => segment.flags.set(PacketFlags::HEADER_CUT),
        _ => {}
    }
    segment.payload = view.skip(header_len as usize).unwrap_or(View {
        bytes: &[],
        len: view.len.saturating_sub(header_len),
    });
    Ok(segment)
}

/// 12 bytes of options, all of them timestamps, and no SYN, whose options are kept.
#[inline]
fn is_common(header: &[u8; 32]) -> bool {
    header[12] >> 4 == 8 && header[13] & TcpFlags::SYN == 0 && be32(header, 20) == PADDED_TIMESTAMPS
}

/// Every other layout: finds the timestamps, keeps the options of SYNs and those with SACK blocks.
fn other_options<'a>(segment: &mut Transport<'a>, view: View<'a>) {
    let header_len = segment.header_len as usize;
    if view.bytes.len() < header_len {
        segment.flags.set(PacketFlags::HEADER_CUT);
    }
    let options = view.bytes.get(20..).unwrap_or_default();
    let options = &options[..options.len().min(header_len - 20)];
    let mut keep = segment.tcp_flags.syn() && !options.is_empty();
    for option in TcpOptions::new(options) {
        match option {
            TcpOption::Timestamps { value, echo } => {
                segment.flags.set(PacketFlags::TIMESTAMPS);
                (segment.tsval, segment.tsecr) = (value, echo);
            }
            TcpOption::Sack(_) => keep = true,
            _ => {}
        }
    }
    if keep {
        segment.flags.set(PacketFlags::SLOW_OPTIONS);
        segment.options = options;
    }
}

fn too_short(view: View<'_>) -> SkipReason {
    if view.len < 20 {
        SkipReason::TransportMalformed
    } else {
        SkipReason::TransportCut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Batch;
    use crate::testing::{ACK, TIMESTAMPS, cut, ipv4, packet, parser, tcp as segment_of, whole};
    use unbloat_units::Time;

    const SYN_OPTIONS: [u8; 20] = [
        2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 7,
    ];
    const SACK: [u8; 12] = [1, 1, 5, 10, 0, 0, 0, 50, 0, 0, 0, 60];

    #[test]
    fn the_common_layout_gives_all_fields() {
        let header = whole(101, &packet()).unwrap();
        assert_eq!((header.src_port, header.dst_port), (40_000, 443));
        assert_eq!((header.seq, header.ack), (Seq::new(1000), Seq::new(2000)));
        assert_eq!((header.tsval, header.tsecr), (Seq::new(7), Seq::new(9)));
        assert_eq!((header.window, header.tcp_flags), (512, TcpFlags(ACK)));
        assert_eq!((header.payload_len, header.options_len), (5, 0));
        assert!(header.flags.has(PacketFlags::TIMESTAMPS));
    }

    #[test]
    fn timestamps_are_found_in_any_layout() {
        let late = [&SACK[..], &TIMESTAMPS].concat();
        let bare = [8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0];
        for options in [&late[..], &bare] {
            let header = whole(101, &ipv4(6, &segment_of(ACK, options, &[]))).unwrap();
            assert!(header.flags.has(PacketFlags::TIMESTAMPS));
            assert_eq!((header.tsval, header.tsecr), (Seq::new(7), Seq::new(9)));
        }
    }

    #[test]
    fn options_of_syns_and_sacks_are_kept_and_others_are_not() {
        let mut batch = Batch::default();
        let options: [(u8, &[u8], bool); 4] = [
            (TcpFlags::SYN, &SYN_OPTIONS, true),
            (ACK, &TIMESTAMPS, false),
            (ACK, &SACK, true),
            (TcpFlags::SYN | ACK, &TIMESTAMPS, true),
        ];
        for (flags, bytes, _) in options {
            let packet = ipv4(6, &segment_of(flags, bytes, b"hello"));
            parser().push(&mut batch, 101.into(), &packet, 77, Time::default());
        }
        for (header, (_, bytes, kept)) in batch.headers.iter().zip(options) {
            assert_eq!(header.flags.has(PacketFlags::SLOW_OPTIONS), kept);
            assert_eq!(batch.options(header), if kept { bytes } else { &[] });
        }
    }

    #[test]
    fn a_cut_in_the_options_is_flagged_and_never_changes_the_payload_length() {
        let packet = ipv4(
            6,
            &segment_of(ACK, &[&TIMESTAMPS[..], &SACK].concat(), b"hello"),
        );
        for stored in 36..64 {
            let header = cut(101, &packet, stored).unwrap();
            assert!(header.flags.has(PacketFlags::HEADER_CUT), "{stored}");
            assert_eq!((header.payload_len, header.window), (5, 512));
            assert_eq!(header.flags.has(PacketFlags::TIMESTAMPS), stored >= 52);
        }
        let header = cut(101, &packet, 64).unwrap();
        assert!(!header.flags.has(PacketFlags::HEADER_CUT));
        assert_eq!(cut(101, &packet, 35), Err(SkipReason::TransportCut));
    }

    #[test]
    fn a_data_offset_that_cannot_be_is_malformed_unless_the_rest_is_another_fragment() {
        let mut packet = ipv4(6, &segment_of(ACK, &[], &[]));
        packet[32] = 0x40;
        assert_eq!(whole(101, &packet), Err(SkipReason::TransportMalformed));
        packet[32] = 0x80;
        assert_eq!(whole(101, &packet), Err(SkipReason::TransportMalformed));
        packet[6] = 0x20;
        let header = whole(101, &packet).unwrap();
        assert!(header.flags.has(PacketFlags::HEADER_CUT));
        assert_eq!(header.payload_len, 0);
    }
}
