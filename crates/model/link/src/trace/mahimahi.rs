//! The format of mahimahi: a line for each chance to send 1500 bytes, in milliseconds.

use super::{TraceError, excerpt, lines};
use unbloat_units::Delta;

/// Times of chances, not decreasing, the last above zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chances {
    at_ms: Vec<u32>,
}

impl Chances {
    #[expect(clippy::len_without_is_empty, reason = "a trace is never empty")]
    pub fn len(&self) -> usize {
        self.at_ms.len()
    }

    /// When the chance with this index is, since the start of the trace.
    pub fn at(&self, index: usize) -> Delta {
        Delta::ms(i64::from(self.at_ms[index]))
    }

    /// After which the trace starts again: its last time.
    pub fn period(&self) -> Delta {
        self.at(self.len() - 1)
    }

    /// How many chances there are up to a time since the start, that time included, in all passes.
    pub(crate) fn until(&self, span: Delta) -> i128 {
        let (span, period) = (span.as_ns(), self.period().as_ns());
        let within = self.first_after(Delta::ns(span.rem_euclid(period)));
        i128::from(span.div_euclid(period)) * self.len() as i128 + within as i128
    }

    /// Index of the first chance after `within`; the length if there is none.
    pub(crate) fn first_after(&self, within: Delta) -> usize {
        self.at_ms
            .partition_point(|ms| Delta::ms(i64::from(*ms)) <= within)
    }
}

/// Reads a trace in mahimahi's format; blank lines are skipped.
pub fn parse_mahimahi(bytes: &[u8]) -> Result<Chances, TraceError> {
    let mut at_ms: Vec<u32> = Vec::new();
    let mut end = 0;
    for (line, text) in lines(bytes) {
        let ms = milliseconds(text).ok_or_else(|| TraceError::NotMilliseconds {
            line,
            text: excerpt(text),
        })?;
        if let Some(last) = at_ms.last().filter(|last| **last > ms) {
            return Err(TraceError::Backwards {
                line,
                found: format!("{ms} ms"),
                last: format!("{last} ms"),
            });
        }
        at_ms.push(ms);
        end = line;
    }
    match at_ms.last() {
        None => Err(TraceError::Empty),
        Some(0) => Err(TraceError::NoLength { line: end }),
        Some(_) => Ok(Chances { at_ms }),
    }
}

fn milliseconds(text: &[u8]) -> Option<u32> {
    let digits = text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| digits)?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        parse_mahimahi(bytes).unwrap_err().to_string()
    }

    #[test]
    fn lines_are_chances_and_the_last_one_is_the_length() {
        let trace = parse_mahimahi(b"0\n5\r\n5\n\n  12 \n").unwrap();
        let at: Vec<Delta> = (0..trace.len()).map(|k| trace.at(k)).collect();
        assert_eq!(at, [0, 5, 5, 12].map(Delta::ms));
        assert_eq!(trace.period(), Delta::ms(12));
        assert_eq!(
            (
                trace.first_after(Delta::ms(5)),
                trace.first_after(Delta::ms(12))
            ),
            (3, 4)
        );
    }

    #[test]
    fn a_fault_is_told_with_its_line_and_what_is_allowed() {
        for (bytes, line) in [
            (&b"1\n2\nabc\n"[..], "line 3: \"abc\""),
            (b"1\n-2\n", "line 2: \"-2\""),
            (b"1\n\n+3\n", "line 3: \"+3\""),
            (b"1.5\n", "line 1: \"1.5\""),
            (b"4294967296\n", "line 1: \"4294967296\""),
            (b"\xff\xfe\n", "line 1:"),
        ] {
            let told = message(bytes);
            assert!(
                told.contains(line) && told.contains("0 to 4294967295"),
                "{told}"
            );
        }
        assert!(message(b"7\n6\n").contains("line 2: the time 6 ms is before 7 ms"));
        assert!(message(b"\n \n").contains("at least one time above 0"));
        assert!(message(b"0\n0\n").contains("line 2: the last time is 0 ms"));
        assert!(message(&[b'x'; 10_000]).len() < 250, "a long line is cut");
    }
}
