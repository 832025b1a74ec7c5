//! Messages as they stand in a datagram (include/uapi/linux/netlink.h).

use super::{attribute, text, u16_at, u32_at};
use std::io;

const HEADER: usize = 16;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Those below are netlink's own.
const FIRST_OF_FAMILY: u16 = 16;
const REQUEST: u16 = 1;
/// `NLMSGERR_ATTR_MSG`.
const MESSAGE: u16 = 1;

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// One thing, or that something is done to it.
    One,
    /// All of a kind.
    All,
    /// That something is made, which must not be there.
    Create,
    /// That something is made, in place of what is there.
    Replace,
}

impl Ask {
    pub(super) fn flags(self) -> u16 {
        const ACK: u16 = 4;
        const DUMP: u16 = 0x300;
        const REPLACE: u16 = 0x100;
        const EXCLUSIVE: u16 = 0x200;
        const CREATE: u16 = 0x400;
        match self {
            // An acknowledgement ends the answer.
            Ask::One => ACK,
            Ask::All => DUMP,
            Ask::Create => ACK | CREATE | EXCLUSIVE,
            Ask::Replace => ACK | CREATE | REPLACE,
        }
    }
}

/// What the kernel refused, in its own words where it has any.
#[derive(Debug)]
pub struct Refusal {
    pub source: io::Error,
    pub detail: Option<String>,
}

impl From<io::Error> for Refusal {
    fn from(source: io::Error) -> Refusal {
        Refusal {
            source,
            detail: None,
        }
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> io::Error {
        refusal.source
    }
}

/// Appends a request whose body is these parts, one behind the other.
#[inline]
pub fn append(bytes: &mut Vec<u8>, kind: u16, flags: u16, number: u32, body: &[&[u8]]) {
    let body_length: usize = body.iter().map(|part| part.len()).sum();
    bytes.extend(((HEADER + body_length) as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((flags | REQUEST).to_ne_bytes());
    bytes.extend(number.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    for part in body {
        bytes.extend(*part);
    }
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Type and body of each message of a datagram; ends at a damaged one.
#[inline]
pub fn messages(mut datagram: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || next(&mut datagram).ok()?)
}

/// Reads the messages of one datagram; whether the answer ends with it.
pub(super) fn read(mut datagram: &[u8], each: &mut impl FnMut(&[u8])) -> Result<bool, Refusal> {
    while let Some((kind, body)) = next(&mut datagram)? {
        match kind {
            DONE => return Ok(true),
            ERROR => return verdict(body).map(|()| true),
            FIRST_OF_FAMILY.. => each(body),
            _ => {}
        }
    }
    Ok(false)
}

#[inline]
fn next<'a>(datagram: &mut &'a [u8]) -> io::Result<Option<(u16, &'a [u8])>> {
    let (Some(length), Some(kind)) = (u32_at(datagram, 0), u16_at(datagram, 4)) else {
        return Ok(None);
    };
    let length = length as usize;
    let Some(body) = datagram.get(HEADER..length) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let padded = length.next_multiple_of(4);
    *datagram = datagram.get(padded..).unwrap_or_default();
    Ok(Some((kind, body)))
}

/// What the body of an error says, which is none when its code is zero.
fn verdict(body: &[u8]) -> Result<(), Refusal> {
    let code = u32_at(body, 0).unwrap_or(0) as i32;
    if code == 0 {
        return Ok(());
    }
    // The refused request's header precedes the kernel's explanation.
    let said = body.get(4 + HEADER..);
    Err(Refusal {
        source: io::Error::from_raw_os_error(code.saturating_neg()),
        detail: said.and_then(|said| attribute(said, MESSAGE)).map(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::Attributes;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        append(&mut bytes, kind, 0, 0, &[body]);
        bytes
    }

    #[test]
    fn a_request_tells_its_own_length() {
        let mut request = Vec::new();
        append(&mut request, 40, Ask::One.flags(), 7, &[b"bo", b"dy"]);
        assert_eq!(u32_at(&request, 0), Some(request.len() as u32));
        let [kind, flags] = [4, 6].map(|at| u16_at(&request, at));
        assert_eq!([kind, flags], [Some(40), Some(5)]);
        assert_eq!(u32_at(&request, 8), Some(7));
        assert_eq!(messages(&request).next(), Some((40, &b"body"[..])));
    }

    #[test]
    fn messages_are_read_to_the_end_of_the_answer() {
        let mut seen = Vec::new();
        let mut each = |body: &[u8]| seen.push(body.to_vec());
        let two = [message(20, b"one"), message(20, b"two")].concat();
        assert!(!read(&two, &mut each).unwrap());
        assert!(!read(&message(1, b"nothing"), &mut each).unwrap());
        assert!(read(&message(DONE, &[]), &mut each).unwrap());
        assert_eq!(seen, [b"one".to_vec(), b"two".to_vec()]);
    }

    #[test]
    fn a_refusal_has_the_kernels_words() {
        let said = Attributes::new().text(MESSAGE, "no such rate").to_bytes();
        let code = (-libc::EPERM).to_ne_bytes();
        let body = [&code[..], &[0; HEADER], &said].concat();
        let refusal = read(&message(ERROR, &body), &mut |_| {}).unwrap_err();
        assert_eq!(refusal.detail.as_deref(), Some("no such rate"));
        assert_eq!(refusal.source.kind(), io::ErrorKind::PermissionDenied);
        let short = read(&message(ERROR, &code), &mut |_| {}).unwrap_err();
        assert_eq!(short.detail, None);
        assert!(read(&message(ERROR, &[0; 4]), &mut |_| {}).unwrap());
    }

    #[test]
    fn a_message_that_is_cut_is_an_error_and_ends_a_list() {
        let whole = message(20, b"whole");
        for length in HEADER..whole.len() - 3 {
            assert!(read(&whole[..length], &mut |_| {}).is_err(), "{length}");
            assert_eq!(messages(&whole[..length]).count(), 0, "{length}");
        }
        assert_eq!(messages(&[0; 64]).count(), 0);
    }
}
