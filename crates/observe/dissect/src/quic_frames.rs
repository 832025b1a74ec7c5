//! The frames of an Initial packet (RFC 9000 §12.4, §19).

use crate::cursor::Cursor;

/// A piece of the TLS handshake, at its offset in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CryptoFrame<'a> {
    pub(crate) offset: u64,
    pub(crate) data: &'a [u8],
}

/// The CRYPTO frames of an opened payload; `None` if there is anything that no Initial packet may
/// hold, as with a payload opened with wrong keys.
///
/// The last frame of a payload that `is_cut` may end early; of CRYPTO, the visible part counts.
pub(crate) fn crypto_frames(payload: &[u8], is_cut: bool) -> Option<Vec<CryptoFrame<'_>>> {
    let mut frames = Vec::new();
    let mut cursor = Cursor::new(payload);
    while !cursor.is_empty() {
        match cursor.varint() {
            Some(0 | 1) => {}
            Some(kind @ (2 | 3 | 6 | 0x1c)) => {
                let whole = match kind {
                    6 => read_crypto(&mut cursor, &mut frames),
                    0x1c => skip_close(&mut cursor),
                    _ => skip_ack(&mut cursor, kind == 3),
                };
                if whole.is_none() {
                    return is_cut.then_some(frames);
                }
            }
            Some(_) => return None,
            None => return is_cut.then_some(frames),
        }
    }
    Some(frames)
}

fn read_crypto<'a>(cursor: &mut Cursor<'a>, frames: &mut Vec<CryptoFrame<'a>>) -> Option<()> {
    let offset = cursor.varint()?;
    let len = cursor.varint_len()?;
    let data = cursor.take_visible(len);
    frames.push(CryptoFrame { offset, data });
    (data.len() == len).then_some(())
}

fn skip_close(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.varint()?;
    cursor.varint()?;
    let len = cursor.varint_len()?;
    cursor.take(len)?;
    Some(())
}

fn skip_ack(cursor: &mut Cursor<'_>, has_ecn: bool) -> Option<()> {
    cursor.varint()?;
    cursor.varint()?;
    let ranges = cursor.varint()?;
    cursor.varint()?;
    for _ in 0..ranges {
        cursor.varint()?;
        cursor.varint()?;
    }
    if has_ecn {
        for _ in 0..3 {
            cursor.varint()?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &[u8] = b"\0\x01\x02\x05\0\x01\0\x02\x03\x03\x05\0\0\0\x01\x02\x03\
        \x06\x04\x02cd\0\0\x1c\x00\x06\x02no\x06\x00\x03abc";

    fn pieces(payload: &[u8], is_cut: bool) -> Option<Vec<(u64, &[u8])>> {
        Some(
            crypto_frames(payload, is_cut)?
                .iter()
                .map(|f| (f.offset, f.data))
                .collect(),
        )
    }

    #[test]
    fn crypto_frames_stand_among_others() {
        let expected: Vec<(u64, &[u8])> = vec![(4, b"cd"), (0, b"abc")];
        assert_eq!(pieces(PAYLOAD, false), Some(expected));
    }

    #[test]
    fn a_cut_frame_gives_its_visible_part_and_a_whole_payload_must_not_end_early() {
        let cut = &PAYLOAD[..PAYLOAD.len() - 1];
        let expected: Vec<(u64, &[u8])> = vec![(4, b"cd"), (0, b"ab")];
        assert_eq!(pieces(cut, true), Some(expected));
        assert_eq!(pieces(cut, false), None);
    }

    #[test]
    fn frames_that_no_initial_packet_holds_refuse_the_payload() {
        assert_eq!(pieces(b"\x06\x00\x01a\x08", true), None);
    }

    #[test]
    fn an_acknowledgement_of_endless_ranges_ends_with_the_payload() {
        assert_eq!(
            pieces(b"\x02\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0", false),
            None
        );
    }
}
