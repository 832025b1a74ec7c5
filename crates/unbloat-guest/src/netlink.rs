//! Attributes of netlink messages: type, length, value, padded to four bytes.

/// A list of attributes in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    pub fn new() -> Attributes {
        Attributes::default()
    }

    pub fn bytes(mut self, kind: u16, value: &[u8]) -> Attributes {
        let length = u16::try_from(value.len() + 4).expect("attributes are short");
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
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
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.bytes(kind, &bytes)
    }

    pub fn nested(self, kind: u16, inner: &Attributes) -> Attributes {
        self.bytes(kind, &inner.0)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The attributes in `bytes`, as type (without flags) and value; ends at the first damaged one.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & 0x3fff, value))
    })
}

/// The value of the first attribute of that type.
pub(crate) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes)
        .find(|&(k, _)| k == kind)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let inner = Attributes::new().u32(1, 7);
        let list = Attributes::new().text(1, "codel").nested(2, &inner);
        let bytes = list.as_bytes();
        assert_eq!(bytes.len(), 12 + 12);
        assert_eq!(attribute(bytes, 1), Some(&b"codel\0"[..]));
        let nested = attribute(bytes, 2).unwrap();
        assert_eq!(attribute(nested, 1), Some(&7u32.to_ne_bytes()[..]));
    }

    #[test]
    fn damaged_lists_end_early() {
        for damaged in [&[3, 0, 1, 0][..], &[8, 0, 1, 0, 1], &[8, 0], &[]] {
            assert_eq!(attributes(damaged).count(), 0, "{damaged:?}");
        }
    }
}
