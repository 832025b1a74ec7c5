//! Attributes of netlink messages of which the library has no names: a type and bytes.

use netlink_packet_core::{DefaultNla, Emitable, NLA_HEADER_SIZE, NlasIterator};

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

/// The value of the first attribute of that type; none behind a damaged one is found.
pub fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    let mut whole = NlasIterator::new(bytes).map_while(Result::ok);
    let found = whole.find(|attribute| attribute.kind() == kind)?;
    let length = usize::from(found.length());
    found.into_inner().get(NLA_HEADER_SIZE..length)
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
