//! How long data waits in the socket until it is sent for the first time: T_S of Guo et al., IMC 2016.

use std::collections::VecDeque;
use unbloat_units::{Delta, Time};

/// When what is not yet sent was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unsent {
    /// Offsets in the stream up to which it was written, or sent.
    written: u64,
    sent: u64,
    /// Ends of writes of which something waits, and their times.
    writes: VecDeque<(u64, Time)>,
}

impl Unsent {
    #[inline]
    pub(crate) fn written(&mut self, now: Time, bytes: u64) {
        self.written += bytes;
        match self.writes.back_mut() {
            Some((end, at)) if *at == now => *end = self.written,
            _ => self.writes.push_back((self.written, now)),
        }
    }

    /// A segment up to `end` leaves: how long its first new byte has waited, if it has one.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time, end: u64) -> Option<Delta> {
        if end <= self.sent {
            return None;
        }
        self.sent = end;
        let since = self.writes.front()?.1;
        while self.writes.front().is_some_and(|(last, _)| *last <= end) {
            self.writes.pop_front();
        }
        Some(now - since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    #[test]
    fn a_segment_tells_how_long_its_first_new_byte_has_waited() {
        let mut unsent = Unsent::default();
        unsent.written(at_ms(0), 1_000);
        unsent.written(at_ms(5), 1_000);
        let waits = [600, 1_000, 600, 1_500, 2_000].map(|end| unsent.sent(at_ms(10), end));
        let expected = [Some(10), Some(10), None, Some(5), Some(5)];
        assert_eq!(waits, expected.map(|ms| ms.map(Delta::ms)));
        unsent.written(at_ms(12), 1);
        assert_eq!(unsent.sent(at_ms(12), 2_001), Some(Delta::ZERO));
    }
}
