//! Frames: of HTTP/3 before the library that has no bound for them, and of WebSockets whose load is left out.

use unbloat_stream_limits::fuzz::Guard;

/// Of control streams, as `unbloat-stream-limits` has it.
const CONTROL_BYTES: u64 = 4 << 10;

/// The bytes are a stream of HTTP/3 behind its kind, the most that a header may have in units of 16 bytes, and the size of the pieces in
/// which it comes. It may go on as long as no frame claims more than it may, however it is cut.
pub fn frames(bytes: &[u8]) {
    let Some((&[kind, most, piece], stream)) = bytes.split_first_chunk() else {
        return;
    };
    let is_one_way = kind & 1 != 0;
    let most = 16 * u64::from(most);
    let guard = || match is_one_way {
        true => Guard::of_one_way(),
        false => Guard::of_request(most),
    };
    let most = if is_one_way { CONTROL_BYTES } else { most };
    let may_go_on = is_bounded(stream, is_one_way, most);
    assert_eq!(guard().passes(stream), may_go_on, "as a whole");
    let mut by_pieces = guard();
    let mut pieces = stream.chunks(usize::from(piece).max(1));
    assert_eq!(
        pieces.all(|next| by_pieces.passes(next)),
        may_go_on,
        "in pieces"
    );
}

/// RFC 9114, 7.1, by the whole stream.
fn is_bounded(mut stream: &[u8], is_one_way: bool, most: u64) -> bool {
    if is_one_way && number(&mut stream) != Some(0) {
        return true;
    }
    while let Some(kind) = number(&mut stream) {
        // WebTransport has no length.
        if kind == 0x41 {
            return false;
        }
        let Some(length) = number(&mut stream) else {
            return true;
        };
        if kind != 0 && length > most {
            return false;
        }
        let skipped = usize::try_from(length).unwrap_or(usize::MAX);
        stream = stream.get(skipped..).unwrap_or_default();
    }
    true
}

/// A number of RFC 9000, 16; none where it is cut.
fn number(stream: &mut &[u8]) -> Option<u64> {
    let length = 1 << (stream.first()? >> 6);
    let (digits, rest) = stream.split_at_checked(length)?;
    *stream = rest;
    let value = digits
        .iter()
        .fold(0, |sum, digit| sum << 8 | u64::from(*digit));
    Some(value & (u64::MAX >> (66 - 8 * length)))
}

/// The bytes are a request's query, or frames of a WebSocket behind the size of the pieces in which they come. Load is left out and all else
/// is as it was.
pub fn request(bytes: &[u8]) {
    let Some((&[kind, piece], rest)) = bytes.split_first_chunk() else {
        return;
    };
    if kind & 1 != 0 {
        if let Err(refused) = unbloat_server::fuzz::query(&String::from_utf8_lossy(rest)) {
            super::words::is_said(refused);
        }
        return;
    }
    let expected = thin(rest);
    for size in [usize::from(piece), rest.len()] {
        assert_eq!(unbloat_server::fuzz::thin(rest, size), expected);
    }
}

/// RFC 6455, 5.2, by the whole stream: frames without their load, and how much that was.
fn thin(mut stream: &[u8]) -> (Vec<u8>, u64) {
    let (mut left, mut load, mut is_load_message) = (Vec::new(), 0, false);
    while let [first, second, rest @ ..] = stream {
        let digits = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask = usize::from(second >> 7) * 4;
        let (Some(length), Some(body)) = (rest.get(..digits), rest.get(digits + mask..)) else {
            break;
        };
        let length = match digits {
            0 => u64::from(second & 0x7f),
            _ => length
                .iter()
                .fold(0, |sum, digit| sum << 8 | u64::from(*digit)),
        };
        let here = usize::try_from(length)
            .unwrap_or(usize::MAX)
            .min(body.len());
        is_load_message = match first & 15 {
            0 | 8.. => is_load_message,
            kind => kind == 2,
        };
        let head = 2 + digits + mask;
        if first & 15 < 8 && is_load_message {
            left.extend([*first, second & 0x80]);
            left.extend(&rest[digits..digits + mask]);
            load += here as u64;
        } else {
            left.extend(&stream[..head + here]);
        }
        stream = &stream[head + here..];
    }
    (left, load)
}
