//! What the emulator must know of a TCP segment.

use unbloat_qdisc::PureAck;
use unbloat_units::Seq;

pub(crate) const FIN: u8 = 0x01;
pub(crate) const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
pub(crate) const CWR: u8 = 0x80;
pub(crate) const SEQ: usize = 4;
pub(crate) const FLAGS: usize = 13;
pub(crate) const CHECKSUM: usize = 16;

/// Length of the header with its options; none: the segment is cut short.
pub(crate) fn header_len(segment: &[u8]) -> Option<usize> {
    let len = usize::from(segment.get(12)? >> 4) * 4;
    (len >= 20 && len <= segment.len()).then_some(len)
}

/// Whether nothing in the header, which must be whole, forbids to join the segment with its neighbours.
pub(crate) fn is_plain_data(segment: &[u8]) -> bool {
    segment[FLAGS] & !(ACK | PSH | FIN | ECE) == 0 && segment[12] & 15 == 0
}

pub(crate) fn seq(header: &[u8]) -> u32 {
    u32::from_be_bytes(header[SEQ..SEQ + 4].try_into().expect("four bytes"))
}

/// Whether a receiver is told at once: no segment is merged behind this one.
pub(crate) fn ends_row(header: &[u8]) -> bool {
    header[FLAGS] & (FIN | PSH) != 0
}

/// Whether two whole headers differ in nothing but sequence number, checksum, FIN and PSH.
pub(crate) fn are_alike(a: &[u8], b: &[u8]) -> bool {
    let but_ends = |header: &[u8]| header[FLAGS] & !(FIN | PSH);
    a[..SEQ] == b[..SEQ]
        && a[8..FLAGS] == b[8..FLAGS]
        && but_ends(a) == but_ends(b)
        && a[14..CHECKSUM] == b[14..CHECKSUM]
        && a[18..] == b[18..]
}

/// An acknowledgement without data.
pub(crate) fn pure_ack(segment: &[u8]) -> Option<PureAck> {
    let len = header_len(segment)?;
    if len < segment.len() || segment[FLAGS] & ACK == 0 {
        return None;
    }
    let (sacked, is_known) = options(&segment[20..len]);
    // Beside ACK only PSH says nothing that a later acknowledgement does not say; the ACE bit of the byte before, too, counts
    // as special.
    let is_plain = segment[FLAGS] & !(ACK | PSH) == 0 && segment[12] & 15 == 0;
    Some(PureAck {
        ack: Seq::new(u32::from_be_bytes(segment[8..12].try_into().ok()?)),
        sacked,
        is_special: !(is_plain && is_known),
    })
}

/// Bytes that SACK blocks cover, and whether all options are of the kinds that a later acknowledgement repeats: padding,
/// timestamps, SACK.
fn options(bytes: &[u8]) -> (u32, bool) {
    let mut rest = bytes;
    let mut sacked = 0u32;
    while let [kind, behind @ ..] = rest {
        match kind {
            0 => break,
            1 => {
                rest = behind;
                continue;
            }
            _ => {}
        }
        let len = behind.first().map_or(0, |len| usize::from(*len));
        if len < 2 || len > rest.len() {
            return (sacked, false);
        }
        let (option, next) = rest.split_at(len);
        rest = next;
        match kind {
            5 => {
                for block in option[2..].as_chunks::<8>().0 {
                    let [start, end] = [&block[..4], &block[4..]]
                        .map(|edge| u32::from_be_bytes(edge.try_into().expect("four bytes")));
                    sacked = sacked.wrapping_add(end.wrapping_sub(start));
                }
            }
            8 => {}
            _ => return (sacked, false),
        }
    }
    (sacked, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(flags: u8, options: &[u8], payload: usize) -> Vec<u8> {
        let mut bytes = vec![0; 20];
        bytes[8..12].copy_from_slice(&7000u32.to_be_bytes());
        bytes[12] = ((20 + options.len()) / 4) as u8 * 16;
        bytes[FLAGS] = flags;
        bytes.extend(options);
        bytes.extend(vec![0; payload]);
        bytes
    }

    #[test]
    fn an_acknowledgement_tells_how_much_is_sacked() {
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 18];
        for edge in [8000u32, 9500, 12_000, 12_500] {
            options.extend(edge.to_be_bytes());
        }
        let ack = pure_ack(&segment(ACK, &options, 0)).unwrap();
        assert_eq!((ack.ack, ack.sacked), (Seq::new(7000), 2000));
        assert!(!ack.is_special);
    }

    #[test]
    fn flags_and_unknown_options_make_it_special() {
        assert!(pure_ack(&segment(ACK | FIN, &[], 0)).unwrap().is_special);
        let unknown = [254, 4, 0, 0];
        assert!(pure_ack(&segment(ACK, &unknown, 0)).unwrap().is_special);
        let overlong = [8, 10, 0, 0];
        assert!(pure_ack(&segment(ACK, &overlong, 0)).unwrap().is_special);
    }

    #[test]
    fn data_is_no_pure_acknowledgement() {
        assert_eq!(pure_ack(&segment(ACK, &[], 1)), None);
        assert_eq!(pure_ack(&segment(ACK, &[], 0)[..19]), None);
    }
}
