//! Bytes from a packet that are meant to be read by people.

use std::fmt::{self, Write};

/// Bytes as they were sent; printing escapes whatever a terminal or a table could trip over.
///
/// Printable ASCII prints as itself, a backslash as `\\`, every other byte as `\xHH`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(pub &'a [u8]);

impl<'a> Text<'a> {
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|&byte| match byte {
            b'\\' => f.write_str("\\\\"),
            0x20..=0x7e => f.write_char(char::from(byte)),
            _ => write!(f, "\\x{byte:02x}"),
        })
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_printable_ascii_reaches_the_reader() {
        let text = Text(b"/a b\\c\x1b[2J\xff");
        assert_eq!(text.to_string(), r"/a b\\c\x1b[2J\xff");
    }
}
