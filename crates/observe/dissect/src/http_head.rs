//! The lines of an HTTP/1 message head, as far as they are visible.
//!
//! Lenient where recipients may be (RFC 9112 §2.2: a lone LF ends a line): this reads what others
//! sent, it does not judge it. A line of the head that is no field is passed over.

use crate::text::Text;
use memchr::memchr;

/// One field line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    name: &'a [u8],
    /// Without white space around it; with the line ends inside it if it was folded
    /// (RFC 9112 §5.2), so that a folded number is no number.
    pub(crate) value: &'a [u8],
}

impl<'a> Field<'a> {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    pub(crate) fn text(&self) -> Option<Text<'a>> {
        (!self.value.is_empty()).then_some(Text(self.value))
    }

    /// The value as one decimal number.
    pub(crate) fn number(&self) -> Option<u64> {
        decimal(self.value)
    }

    /// Whether a comma-separated value has this member (RFC 9110 §5.6.1), parameters left out.
    pub(crate) fn lists(&self, member: &str) -> bool {
        self.value
            .split(|&b| b == b',')
            .any(|m| without_parameters(m).eq_ignore_ascii_case(member.as_bytes()))
    }
}

/// What stands before the first ";", without white space around it.
pub(crate) fn without_parameters(value: &[u8]) -> &[u8] {
    value
        .split(|&b| b == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii()
}

/// Digits only: no sign, no space, no overflow.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok()?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// A character of a method or field name (RFC 9110 §5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Walks over a head that follows its start line.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    head: &'a [u8],
    at: usize,
    ended: bool,
}

impl<'a> Fields<'a> {
    /// `start` is where the line after the start line begins.
    pub(crate) fn new(head: &'a [u8], start: usize) -> Fields<'a> {
        Fields {
            head,
            at: start,
            ended: false,
        }
    }

    /// Length of the whole head, once the empty line that ends it has been walked over.
    pub(crate) fn head_len(&self) -> Option<usize> {
        self.ended.then_some(self.at)
    }

    /// The next line with the lines folded into it. It is whole only if the byte after it is
    /// visible: that byte could be the white space of a fold.
    fn next_line(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        let mut end = start;
        loop {
            end += line_len(self.head.get(end..)?)?;
            let line = &self.head[start..end];
            if line.trim_ascii_start().is_empty() {
                self.at = end;
                self.ended = true;
                return None;
            }
            if !matches!(self.head.get(end)?, b' ' | b'\t') {
                self.at = end;
                return Some(line);
            }
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        while !self.ended {
            let line = self.next_line()?;
            let Some(colon) = memchr(b':', line) else {
                continue;
            };
            return Some(Field {
                name: line[..colon].trim_ascii(),
                value: line[colon + 1..].trim_ascii(),
            });
        }
        None
    }
}

/// Length of the first line, its end included; `None` if it is cut.
pub(crate) fn line_len(bytes: &[u8]) -> Option<usize> {
    memchr(b'\n', bytes).map(|n| n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(head: &[u8]) -> (Vec<Text<'_>>, Option<usize>) {
        let mut fields = Fields::new(head, 0);
        let values = fields.by_ref().map(|f| Text(f.value)).collect();
        (values, fields.head_len())
    }

    #[test]
    fn a_field_counts_once_the_line_after_it_begins() {
        assert_eq!(values(b"A: 1\r\n"), (vec![], None));
        assert_eq!(values(b"A: 1\r\n\r"), (vec![Text(b"1")], None));
        assert_eq!(values(b"A: 1\r\n\r\n"), (vec![Text(b"1")], Some(8)));
        assert_eq!(
            values(b"A:1\nB: 2 \n\nbody"),
            (vec![Text(b"1"), Text(b"2")], Some(11))
        );
    }

    #[test]
    fn a_folded_field_is_one_field_and_no_number() {
        let mut fields = Fields::new(b"Content-Length: 1\r\n 2\r\nB: 3\r\n\r\n", 0);
        let folded = fields.next().unwrap();
        assert_eq!(folded.number(), None);
        assert_eq!(fields.next().unwrap().number(), Some(3));
    }

    #[test]
    fn lines_that_are_no_fields_are_passed_over() {
        assert_eq!(
            values(b"rubbish\r\nA: 1\r\n\r\n"),
            (vec![Text(b"1")], Some(17))
        );
    }

    #[test]
    fn list_members_compare_without_case_and_parameters() {
        let field = Field {
            name: b"TE",
            value: b"gzip, Chunked;q=1",
        };
        assert!(field.lists("chunked") && field.lists("gzip"));
        assert!(!field.lists("chunk"));
    }

    #[test]
    fn only_digits_are_a_number() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for no_number in ["", "+1", "-1", "1 ", "0x1", "18446744073709551616"] {
            assert_eq!(decimal(no_number.as_bytes()), None, "{no_number:?}");
        }
    }
}
