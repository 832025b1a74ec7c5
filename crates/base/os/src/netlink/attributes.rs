//! Attributes of netlink messages of which the library has no names: a type and bytes.

use super::u16_at;
use netlink_packet_core::{DefaultNla, Emitable, NLA_HEADER_SIZE, NLA_TYPE_MASK};

/// A list of attributes in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(Vec<DefaultNla>);

impl Attributes {
    pub fn new() -> Attributes {
        Attributes::default()
    }

    pub fn bytes(mut self, kind: u16, value: &[u8]) -> Attributes {
        self.0.push(DefaultNla::new(kind, value.to_vec()));
        self
    }

    pub fn u32(self, kind: u16, value: u32) -> Attributes {
        self.bytes(kind, &value.to_ne_bytes())
    }

    pub fn u64(self, kind: u16, value: u64) -> Attributes {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// Text with a zero at its end.
    pub fn text(self, kind: u16, value: &str) -> Attributes {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    pub fn nested(self, kind: u16, inner: &Attributes) -> Attributes {
        self.bytes(kind, &inner.to_bytes())
    }

    /// As they stand in a message.
    pub fn to_bytes(&self) -> Vec<u8> {
        let list = self.0.as_slice();
        let mut bytes = vec![0; list.buffer_len()];
        list.emit(&mut bytes);
        bytes
    }
}

/// Type and value of each attribute, up to a damaged one.
#[inline]
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & NLA_TYPE_MASK;
        let value = bytes.get(NLA_HEADER_SIZE..length)?;
        let padded = length.next_multiple_of(4);
        bytes = bytes.get(padded..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The value of the first attribute of that type; none behind a damaged one is found.
#[inline]
pub fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    let (_, value) = attributes(bytes).find(|(of, _)| *of == kind)?;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let inner = Attributes::new().u32(1, 7);
        let bytes = Attributes::new().text(1, "codel").nested(2, &inner);
        let bytes = bytes.to_bytes();
        assert_eq!(bytes.len(), 12 + 12);
        assert_eq!(attribute(&bytes, 1), Some(&b"codel\0"[..]));
        let nested = attribute(&bytes, 2).unwrap();
        assert_eq!(attribute(nested, 1), Some(&7u32.to_ne_bytes()[..]));
        assert_eq!(attribute(&bytes, 3), None);
    }

    #[test]
    fn damaged_lists_end_early() {
        for damaged in [&[3, 0, 1, 0][..], &[8, 0, 1, 0, 1], &[8, 0], &[]] {
            assert_eq!(attribute(damaged, 1), None, "{damaged:?}");
        }
    }
}
