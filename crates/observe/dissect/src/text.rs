//! Bytes from a packet that are meant to be read by people.

use std::fmt;

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
        let is_plain = |byte: &u8| matches!(byte, 0x20..=0x7e) && *byte != b'\\';
        let mut rest = self.0;
        while !rest.is_empty() {
            let plain = rest.iter().take_while(|byte| is_plain(byte)).count();
            let (run, others) = rest.split_at(plain);
            f.write_str(std::str::from_utf8(run).map_err(|_| fmt::Error)?)?;
            rest = others;
            if let Some((byte, after)) = others.split_first() {
                match byte {
                    b'\\' => f.write_str("\\\\")?,
                    _ => write!(f, "\\x{byte:02x}")?,
                }
                rest = after;
            }
        }
        Ok(())
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
