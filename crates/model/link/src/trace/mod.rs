//! Traces of links, read from bytes.
//!
//! Memory stays in proportion to the input, and every fault is told with its line and what would
//! be allowed there.

mod csv;
mod mahimahi;

pub use csv::parse_rates;
pub use mahimahi::{Chances, parse_mahimahi};

use thiserror::Error;

/// Why bytes are no trace. Lines count from 1.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TraceError {
    #[error(
        "line {line}: {text:?} is not a time; a mahimahi trace has one whole number of \
         milliseconds from 0 to {MAX} on each line, and a trace of \"seconds,rate\" has a name that ends in .csv", MAX = u32::MAX
    )]
    NotMilliseconds { line: usize, text: String },
    #[error(
        "line {line}: the time {found} is before {last}, the time of the previous line; times must not decrease"
    )]
    Backwards {
        line: usize,
        found: String,
        last: String,
    },
    #[error("the trace has no line with a time; at least one time above 0 is needed")]
    Empty,
    #[error(
        "line {line}: the last time is 0 ms, but it is the length of the trace and must be above 0"
    )]
    NoLength { line: usize },
    #[error("line {line}: {text:?} is not \"seconds,rate\", such as \"12.5,20 Mbit/s\"")]
    NotAPair { line: usize, text: String },
    #[error("line {line}: {text:?} is not a time; write seconds from 0 to {max}, such as \"12.5\"")]
    NotSeconds { line: usize, text: String, max: u64 },
    #[error(
        "line {line}: {text:?} is not a rate; write it with its unit, such as \"20 Mbit/s\" (bit/s, \
         kbit/s, Mbit/s, Gbit/s), or name the unit in a first line: \"seconds,rate_bps\", \
         \"seconds,rate_kbps\" or \"seconds,rate_mbps\""
    )]
    NotARate { line: usize, text: String },
    #[error(
        "line {line}: the time {text} is not after that of the previous line; times must increase"
    )]
    NotAfter { line: usize, text: String },
    #[error("no rate in the trace is above 0; no packet would ever leave the link")]
    AllZero,
}

/// Lines with their numbers, without byte order mark, line ends and outer space, blank ones left out.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let numbered = bytes.split(|byte| *byte == b'\n').zip(1..);
    numbered
        .map(|(line, number)| (number, line.trim_ascii()))
        .filter(|(_, line)| !line.is_empty())
}

/// The beginning of what stood there, for a message.
fn excerpt(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    let head = &text[..text.len().min(LONGEST)];
    let mut shown = String::from_utf8_lossy(head).into_owned();
    if text.len() > LONGEST {
        shown.push('…');
    }
    shown
}
