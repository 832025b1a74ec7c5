//! Domain names on the wire (RFC 1035 §3.1, §4.1.4).

use crate::cursor::Cursor;
use std::fmt::{self, Write};

/// A domain name: its labels without compression, in at most 255 bytes (RFC 1035 §2.3.4).
///
/// Compares as sent; names that differ in case only are the same to the DNS (RFC 4343), see
/// [`DnsName::same_as`]. Prints in master-file form without the last dot, dots inside labels and
/// backslashes escaped, unprintable bytes as `\DDD` (RFC 1035 §5.1); the root prints as ".".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DnsName {
    /// Length byte, label, length byte, label ...; the root's zero byte is left out.
    wire: [u8; Self::MAX],
    len: u8,
}

impl DnsName {
    /// RFC 1035 §2.3.4 allows 255 bytes, the last of which is the root's, which is not kept.
    const MAX: usize = 254;

    /// Reads the name at the front of `cursor`, whose `message` begins at the DNS header.
    ///
    /// `None` if it is cut, too long, or a pointer does not lead strictly backwards; as each jump
    /// goes before the last, no message can make this loop.
    pub(crate) fn read(cursor: &mut Cursor<'_>, message: &[u8]) -> Option<DnsName> {
        let mut name = DnsName {
            wire: [0; Self::MAX],
            len: 0,
        };
        // What a pointer may point at: only bytes before where this run of labels began.
        let mut before = message.len().checked_sub(cursor.rest().len())?;
        if let Some(mut target) = name.read_labels(cursor)? {
            loop {
                let earlier = message.get(..before)?;
                let mut run = Cursor::new(earlier.get(target..)?);
                before = target;
                match name.read_labels(&mut run)? {
                    Some(next) => target = next,
                    None => break,
                }
            }
        }
        Some(name)
    }

    /// Appends labels up to the root (`Some(None)`) or a pointer (`Some(Some(target))`).
    fn read_labels(&mut self, cursor: &mut Cursor<'_>) -> Option<Option<usize>> {
        loop {
            let len = cursor.u8()?;
            match len >> 6 {
                0 if len == 0 => return Some(None),
                0 => self.push(len, cursor.take(usize::from(len))?)?,
                3 => {
                    let low = cursor.u8()?;
                    return Some(Some(usize::from(len & 0x3f) << 8 | usize::from(low)));
                }
                // Reserved label types (RFC 6891 §5 took back the only one in use).
                _ => return None,
            }
        }
    }

    fn push(&mut self, len: u8, label: &[u8]) -> Option<()> {
        let start = usize::from(self.len);
        let end = start + 1 + label.len();
        let space = self.wire.get_mut(start..end)?;
        space[0] = len;
        space[1..].copy_from_slice(label);
        self.len = u8::try_from(end).ok()?;
        Some(())
    }

    /// Whether the DNS takes the two for one name (RFC 4343 §3).
    pub fn same_as(&self, other: &DnsName) -> bool {
        // Length bytes are below 64, so lower-casing the whole leaves them alone.
        self.as_wire().eq_ignore_ascii_case(other.as_wire())
    }

    fn as_wire(&self) -> &[u8] {
        &self.wire[..usize::from(self.len)]
    }

    fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let mut cursor = Cursor::new(self.as_wire());
        std::iter::from_fn(move || {
            let len = cursor.u8()?;
            cursor.take(usize::from(len))
        })
    }
}

impl fmt::Display for DnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.len == 0 {
            return f.write_char('.');
        }
        for (i, label) in self.labels().enumerate() {
            if i > 0 {
                f.write_char('.')?;
            }
            label.iter().try_for_each(|&byte| match byte {
                b'.' | b'\\' => write!(f, "\\{}", char::from(byte)),
                0x21..=0x7e => f.write_char(char::from(byte)),
                _ => write!(f, "\\{byte:03}"),
            })?;
        }
        Ok(())
    }
}

impl fmt::Debug for DnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_at(message: &[u8], at: usize) -> Option<DnsName> {
        DnsName::read(&mut Cursor::new(&message[at..]), message)
    }

    fn text_at(message: &[u8], at: usize) -> Option<String> {
        read_at(message, at).map(|name| name.to_string())
    }

    #[test]
    fn compressed_names_read_as_in_the_example_of_rfc_1035_section_4_1_4() {
        let mut message = vec![0; 20];
        message.extend(b"\x01F\x03ISI\x04ARPA\0");
        message.resize(40, 0);
        message.extend(b"\x03FOO\xc0\x14");
        message.resize(64, 0);
        message.extend(b"\xc0\x1a");
        message.resize(92, 0);
        assert_eq!(text_at(&message, 20).unwrap(), "F.ISI.ARPA");
        assert_eq!(text_at(&message, 40).unwrap(), "FOO.F.ISI.ARPA");
        assert_eq!(text_at(&message, 64).unwrap(), "ARPA");
        assert_eq!(text_at(&message, 91).unwrap(), ".");
    }

    #[test]
    fn bytes_that_would_mislead_a_reader_are_escaped() {
        let name = text_at(b"\x05a.b\\ \x02\xff\x07\0", 0).unwrap();
        assert_eq!(name, r"a\.b\\\032.\255\007");
    }

    #[test]
    fn pointers_that_do_not_lead_backwards_give_no_name() {
        assert_eq!(read_at(b"\xc0\x00", 0), None);
        assert_eq!(read_at(b"\xc0\x02\0", 0), None);
        assert_eq!(read_at(b"\x01a\xc0\x00", 0), None);
        assert_eq!(read_at(b"\xc0\x02\xc0\x00", 2), None);
    }

    #[test]
    fn names_longer_than_255_bytes_give_no_name() {
        let label = [b"\x3f".as_slice(), &[b'a'; 63]].concat();
        let longest = [label.repeat(3), b"\x3d".to_vec(), vec![b'a'; 61], vec![0]].concat();
        assert_eq!(longest.len(), 255);
        assert_eq!(text_at(&longest, 0).unwrap().len(), 253);
        let longer = [label.repeat(3), b"\x3e".to_vec(), vec![b'a'; 62], vec![0]].concat();
        assert_eq!(read_at(&longer, 0), None);
    }

    #[test]
    fn names_are_the_same_whatever_their_case() {
        let lower = read_at(b"\x07example\x03com\0", 0).unwrap();
        let mixed = read_at(b"\x07eXaMpLe\x03COM\0", 0).unwrap();
        assert_ne!(lower, mixed);
        assert!(lower.same_as(&mixed));
    }
}
