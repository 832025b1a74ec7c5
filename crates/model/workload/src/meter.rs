//! Bytes since a time.

use crate::metrics::Metric;
use unbloat_units::{Bytes, Delta, Time};

/// From where it counts is rounded down to whole bins since the start.
const BIN: Delta = Delta::ms(10);

/// Bytes from a time on, in memory that does not grow with the run.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    /// The start, or the later time from which bytes count.
    from: Time,
    /// The same, rounded.
    counts_from: Time,
    bytes: Bytes,
}

impl Meter {
    /// Of what starts at `start` and counts from `from` on, if that is later.
    pub(crate) fn new(start: Time, from: Time) -> Meter {
        let from = from.max(start);
        let bins = from.since(start).as_ns() / BIN.as_ns();
        Meter {
            from,
            counts_from: start + BIN * bins,
            bytes: Bytes::ZERO,
        }
    }

    #[inline]
    pub(crate) fn count(&mut self, now: Time, bytes: Bytes) {
        if now >= self.counts_from {
            self.bytes += bytes;
        }
    }

    /// `goodput_bps` until `now`.
    pub(crate) fn goodput(&self, now: Time) -> Option<Metric> {
        let rate = self.bytes.over(now.since(self.from))?;
        Some(Metric::new("goodput_bps", rate.as_bps_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_is_bytes_over_the_span_that_is_asked_for() {
        let at = |ms: i64| Time::from_ns(0) + Delta::ms(ms);
        let goodput = |from: i64| {
            let mut meter = Meter::new(at(0), at(from));
            let bytes = |ms: i64| Bytes::new(if ms < 500 { 1_000 } else { 125 });
            (0..1_000).for_each(|ms| meter.count(at(ms), bytes(ms)));
            meter.goodput(at(1_000)).map(|metric| metric.value)
        };
        assert_eq!(goodput(500), Some(1e6));
        assert_eq!(goodput(-1), Some(4.5e6));
        assert_eq!(goodput(1_000), None);
    }
}
