//! The pcap file format: a 24-byte header, then records.
//!
//! # References
//! draft-ietf-opsawg-pcap-06 (the PCAP capture file format).
//!
//! # Where we differ
//! | the draft | here | why |
//! |---|---|---|
//! | two magics | also 0xa1b2cd34, Kuznetzov's with a 24-byte record header | files of old patched libpcaps exist |
//! | captured length first | versions before 2.4 may have the two lengths exchanged: the smaller is the captured one | libpcap wrote them so |
//! | a captured length up to SnapLen | up to 262144, whatever SnapLen says | headers with a wrong SnapLen are common, and records are whole |

use crate::format::{ByteOrder, Format, Frame, MAX_CAPTURED, Step};
use crate::notes::DamageKind;
use unbloat_units::Time;
use unbloat_wire::LinkType;

/// Bytes of the file's header.
pub(crate) const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const MODIFIED_RECORD_HEADER: usize = 24;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;

#[derive(Debug)]
pub(crate) struct Pcap {
    order: ByteOrder,
    ns_per_unit: u32,
    record_header: usize,
    link: LinkType,
    lengths_may_be_swapped: bool,
}

/// A pcap of a version that nobody has described.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownVersion {
    pub(crate) major: u16,
    pub(crate) minor: u16,
}

/// Whether a file that begins so is a pcap.
pub(crate) fn is_pcap(magic: [u8; 4]) -> bool {
    [u32::from_le_bytes(magic), u32::from_be_bytes(magic)]
        .into_iter()
        .any(|m| matches!(m, MICROSECONDS | NANOSECONDS | MODIFIED))
}

impl Pcap {
    /// Reads the header of a file that [`is_pcap`].
    pub(crate) fn new(header: &[u8; FILE_HEADER]) -> Result<Pcap, UnknownVersion> {
        let big_endian = header[0] == 0xa1;
        let order = ByteOrder { big_endian };
        let magic = order.u32(header, 0);
        let (major, minor) = (order.u16(header, 4), order.u16(header, 6));
        // 543.0 was written by some versions of Digital's tcpdump; libpcap reads it too.
        if major != 2 && major != 543 || minor > 4 {
            return Err(UnknownVersion { major, minor });
        }
        Ok(Pcap {
            order,
            ns_per_unit: if magic == NANOSECONDS { 1 } else { 1000 },
            record_header: if magic == MODIFIED {
                MODIFIED_RECORD_HEADER
            } else {
                RECORD_HEADER
            },
            // The bits above hold the length of the frame check sequence.
            link: LinkType::from(order.u32(header, 20) as u16),
            lengths_may_be_swapped: major == 543 || minor < 4,
        })
    }
}

impl Format for Pcap {
    #[inline(always)]
    fn step(&mut self, bytes: &[u8]) -> Step {
        let Some(header) = bytes.first_chunk::<RECORD_HEADER>() else {
            return Step::Need(self.record_header);
        };
        let [seconds, fraction, mut captured, mut wire_len] = self.order.four_u32(header);
        if self.lengths_may_be_swapped && captured > wire_len {
            (captured, wire_len) = (wire_len, captured);
        }
        if captured > MAX_CAPTURED {
            return Step::Corrupt(DamageKind::RecordLength { captured });
        }
        // A hole in a file may be longer than any disk.
        if captured == 0 && *header == [0; RECORD_HEADER] {
            return Step::Corrupt(DamageKind::Zeros);
        }
        let used = self.record_header + captured as usize;
        if bytes.len() < used {
            return Step::Need(used);
        }
        let fraction_ns = i64::from(fraction) * i64::from(self.ns_per_unit);
        Step::Frame(Frame {
            time: Time::from_ns(i64::from(seconds) * 1_000_000_000 + fraction_ns),
            link: self.link,
            wire_len,
            start: self.record_header,
            end: used,
            used,
        })
    }
}
