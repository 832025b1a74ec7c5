//! What is remembered of a capture so far, as bytes that another process can go on from.

use serde::{Deserialize, Serialize};
use unbloat_units::{Delta, Time};

/// What a [`Watch`](crate::Watch) remembers.
///
/// What it decides depends on differences of times alone. So two states whose bytes are equal lead to the same
/// decisions, also where all their times differ by one and the same shift.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The latest time so far; all times in `remembered` are relative to it.
    pub latest_ns: i64,
    /// What is added to the times of packets to take out the steps of the capture clock so far.
    pub correction_ns: i64,
    pub remembered: Vec<u8>,
}

impl State {
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader {
            base: Time::from_ns(self.latest_ns),
            rest: &self.remembered,
        }
    }
}

pub(crate) struct Writer {
    base: Time,
    bytes: Vec<u8>,
}

/// Stands for a time that is not known.
const NONE: i64 = i64::MIN;

impl Writer {
    pub(crate) fn new(base: Time) -> Writer {
        Writer {
            base,
            bytes: Vec::new(),
        }
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(crate) fn time(&mut self, time: Option<Time>) {
        let base = self.base.as_ns();
        let relative = time.map_or(NONE, |time| time.as_ns().wrapping_sub(base));
        self.u64(relative as u64);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

pub(crate) struct Reader<'a> {
    base: Time,
    rest: &'a [u8],
}

impl Reader<'_> {
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*first))
    }

    /// How many of something follow, none of which takes less than eight bytes.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.u64()?).ok()?;
        (count <= self.rest.len() / 8).then_some(count)
    }

    pub(crate) fn time(&mut self) -> Option<Option<Time>> {
        let relative = self.u64()? as i64;
        let since = Delta::ns(relative);
        Some(
            (relative != NONE)
                .then(|| Time::from_ns(self.base.as_ns().wrapping_add(since.as_ns()))),
        )
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}
