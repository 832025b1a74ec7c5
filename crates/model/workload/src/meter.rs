//! Bytes over time.

use crate::metrics::Metric;
use unbloat_units::{Bytes, Delta, Time};

/// Width of a bin; a span that is asked for is rounded to whole bins.
const BIN: Delta = Delta::ms(10);

/// Bytes by bins of 10 ms since it was made.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    start: Time,
    bins: Vec<u64>,
}

impl Meter {
    pub(crate) fn new(start: Time) -> Meter {
        Meter {
            start,
            bins: Vec::new(),
        }
    }

    pub(crate) fn count(&mut self, now: Time, bytes: Bytes) {
        let bin = self.bin(now);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += bytes.as_u64();
    }

    /// Bytes counted from `from` on.
    pub(crate) fn since(&self, from: Time) -> Bytes {
        Bytes::new(self.bins.iter().skip(self.bin(from)).sum())
    }

    /// `goodput_bps` between `from`, or the start if that is later, and `now`.
    pub(crate) fn goodput(&self, from: Time, now: Time) -> Option<Metric> {
        let rate = self.since(from).over(now.since(from.max(self.start)))?;
        Some(Metric::new("goodput_bps", rate.as_bps_f64()))
    }

    fn bin(&self, at: Time) -> usize {
        (at.since(self.start).as_ns().max(0) / BIN.as_ns()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_is_bytes_over_the_span_that_is_asked_for() {
        let at = |ms: i64| Time::from_ns(0) + Delta::ms(ms);
        let mut meter = Meter::new(at(0));
        (0..1_000)
            .for_each(|ms| meter.count(at(ms), Bytes::new(if ms < 500 { 1_000 } else { 125 })));
        assert_eq!(meter.goodput(at(500), at(1_000)).unwrap().value, 1e6);
        assert_eq!(meter.since(at(0)), Bytes::new(562_500));
        assert_eq!(meter.goodput(at(1_000), at(1_000)), None);
    }
}
