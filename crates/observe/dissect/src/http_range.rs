//! Byte ranges asked for and sent (RFC 9110 §14).

use crate::http_head::decimal;

/// The one range of a `Range` field. A field with several ranges, or in other units than bytes,
/// gives none: no single pair of numbers would be true of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// From `first` to `last`, both included; to the end of the content if `last` is `None`.
    From { first: u64, last: Option<u64> },
    /// The last `len` bytes.
    Suffix { len: u64 },
}

impl ByteRange {
    /// Reads `bytes=0-499`, `bytes=500-` or `bytes=-500`.
    pub(crate) fn parse(value: &[u8]) -> Option<ByteRange> {
        let (first, last) = split_at_byte(after_unit(value, b'=')?, b'-')?;
        match (first, last) {
            ([], _) => Some(ByteRange::Suffix {
                len: decimal(last)?,
            }),
            (_, []) => Some(ByteRange::From {
                first: decimal(first)?,
                last: None,
            }),
            _ => {
                let (first, last) = ordered(first, last)?;
                Some(ByteRange::From {
                    first,
                    last: Some(last),
                })
            }
        }
    }

    /// The first byte's position, if it is known without the content's length.
    pub fn first(self) -> Option<u64> {
        match self {
            ByteRange::From { first, .. } => Some(first),
            ByteRange::Suffix { .. } => None,
        }
    }

    /// The last byte's position, if it is known without the content's length.
    pub fn last(self) -> Option<u64> {
        match self {
            ByteRange::From { last, .. } => last,
            ByteRange::Suffix { .. } => None,
        }
    }
}

/// A `Content-Range` field: which bytes of how many the body holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// First and last byte, both included; `None` when the range asked for could not be met
    /// (`bytes */1234`, status 416).
    pub span: Option<(u64, u64)>,
    /// Bytes of the whole content; `None` if the server did not know (`bytes 0-99/*`).
    pub total: Option<u64>,
}

impl ContentRange {
    pub(crate) fn parse(value: &[u8]) -> Option<ContentRange> {
        let (range, total) = split_at_byte(after_unit(value, b' ')?, b'/')?;
        let span = match range {
            b"*" => None,
            _ => {
                let (first, last) = split_at_byte(range, b'-')?;
                Some(ordered(first, last)?)
            }
        };
        let total = match total {
            b"*" => None,
            _ => Some(decimal(total)?),
        };
        let within = span.zip(total).is_none_or(|((_, last), n)| last < n);
        within.then_some(ContentRange { span, total })
    }
}

/// What follows the unit, which must be bytes.
fn after_unit(value: &[u8], separator: u8) -> Option<&[u8]> {
    let (unit, rest) = split_at_byte(value, separator)?;
    unit.eq_ignore_ascii_case(b"bytes").then_some(rest)
}

fn split_at_byte(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&b| b == separator)?;
    Some((bytes[..at].trim_ascii(), bytes[at + 1..].trim_ascii()))
}

fn ordered(first: &[u8], last: &[u8]) -> Option<(u64, u64)> {
    let (first, last) = (decimal(first)?, decimal(last)?);
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_read_as_in_the_examples_of_rfc_9110_section_14_1_2() {
        let from = |first, last| Some(ByteRange::From { first, last });
        assert_eq!(ByteRange::parse(b"bytes=0-499"), from(0, Some(499)));
        assert_eq!(ByteRange::parse(b"bytes=9500-"), from(9500, None));
        assert_eq!(
            ByteRange::parse(b"Bytes=-500"),
            Some(ByteRange::Suffix { len: 500 })
        );
    }

    #[test]
    fn several_ranges_other_units_and_nonsense_give_no_range() {
        for value in [
            "bytes=0-0,-1",
            "bytes=1-2, 4-5",
            "items=0-5",
            "bytes=5-1",
            "bytes=-",
            "0-5",
            "",
        ] {
            assert_eq!(ByteRange::parse(value.as_bytes()), None, "{value:?}");
        }
    }

    #[test]
    fn content_ranges_read_as_in_the_examples_of_rfc_9110_section_14_4() {
        let parse = |value: &str| ContentRange::parse(value.as_bytes()).map(|r| (r.span, r.total));
        assert_eq!(
            parse("bytes 42-1233/1234"),
            Some((Some((42, 1233)), Some(1234)))
        );
        assert_eq!(parse("bytes 42-1233/*"), Some((Some((42, 1233)), None)));
        assert_eq!(parse("bytes */1234"), Some((None, Some(1234))));
        assert_eq!(parse("bytes 0-1234/1234"), None);
        assert_eq!(parse("bytes 7-6/10"), None);
    }
}
