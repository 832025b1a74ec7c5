//! A token bucket: bursts at once, more only at a rate.
//!
//! # References
//! `tc-tbf(8)`, Linux `sch_tbf`: rate, burst, and optionally a second bucket of peak rate and `mtu`.
//!
//! # Where we differ
//! 1. Linux counts tokens in ticks of rounded transmission times; here the levels are exact and a
//!    packet leaves at the first whole nanosecond at which both buckets hold its bytes.
//! 2. The packet that waits for tokens has left the queue, so it does not count against the
//!    queue's limit (in Linux it does).

use super::Service;
use super::work::{PER_BYTE, done, time_for};
use fastrand::Rng;
use unbloat_units::{Bytes, Delta, Rate, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Bits on the wire per second.
    pub rate: Rate,
    /// Depth of the bucket, full at the start. Larger packets are dropped.
    pub burst: Bytes,
    pub peak: Option<Peak>,
}

/// Limits the rate within a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    pub rate: Rate,
    /// What may leave at once; at least the largest packet.
    pub mtu: Bytes,
}

/// A token bucket filter: in any interval of length t at most `burst + rate * t` leaves.
#[derive(Clone, Debug)]
pub struct Bucket {
    level: Level,
    peak: Option<Level>,
}

impl Bucket {
    pub fn new(params: Params, start: Time) -> Bucket {
        Bucket {
            level: Level::full(params.rate, params.burst, start),
            peak: params
                .peak
                .map(|peak| Level::full(peak.rate, peak.mtu, start)),
        }
    }

    pub(crate) fn build(params: &Params, start: Time, _rng: &mut Rng) -> Bucket {
        Bucket::new(*params, start)
    }
}

impl Service for Bucket {
    fn finish(&mut self, begin: Time, wire_bytes: u64) -> Time {
        let need = i128::from(wire_bytes) * PER_BYTE;
        let wait = self.level.wait(begin, need);
        let peak_wait = self.peak.as_mut().map(|peak| peak.wait(begin, need));
        let Some(longest) = wait.max_of(peak_wait) else {
            return Time::MAX;
        };
        let at = begin + longest;
        self.level.take(at, need);
        if let Some(peak) = &mut self.peak {
            peak.take(at, need);
        }
        at
    }

    fn longest(&self) -> Option<u64> {
        let depths = std::iter::once(&self.level).chain(&self.peak);
        let least = depths.map(|level| level.depth).min()?;
        u64::try_from(least / PER_BYTE).ok()
    }
}

/// How long until there are tokens enough; none for never.
#[derive(Clone, Copy)]
struct Wait(Option<Delta>);

impl Wait {
    fn max_of(self, other: Option<Wait>) -> Option<Delta> {
        match other {
            None => self.0,
            Some(other) => Some(self.0?.max(other.0?)),
        }
    }
}

/// What a bucket holds.
#[derive(Clone, Debug)]
struct Level {
    rate: Rate,
    depth: i128,
    tokens: i128,
    as_of: Time,
}

impl Level {
    fn full(rate: Rate, depth: Bytes, start: Time) -> Level {
        let depth = i128::from(depth.as_u64()) * PER_BYTE;
        Level {
            rate,
            depth,
            tokens: depth,
            as_of: start,
        }
    }

    fn wait(&mut self, now: Time, need: i128) -> Wait {
        self.fill(now);
        Wait(time_for(need - self.tokens, self.rate).map(|(span, _)| span))
    }

    /// Takes the tokens of a packet that leaves at `at`. If it waited here it left within the
    /// last nanosecond before `at`, when the bucket was just full enough: what flowed in since
    /// then stays even if the packet was as large as the bucket.
    fn take(&mut self, at: Time, need: i128) {
        let flowed = self.tokens.saturating_add(done(self.rate, at - self.as_of)) - need;
        let one_ns = i128::from(self.rate.as_bps());
        let waited = self.tokens < need && flowed < one_ns;
        self.tokens = if waited {
            flowed
        } else {
            flowed.min(self.depth - need)
        };
        self.as_of = at;
    }

    fn fill(&mut self, now: Time) {
        let flowed = self
            .tokens
            .saturating_add(done(self.rate, now - self.as_of));
        self.tokens = flowed.min(self.depth);
        self.as_of = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Log, at_us, drive, droptail, packet, run_until};
    use crate::{Bottleneck, Element};
    use unbloat_qdisc::{Packet, Reason};
    use unbloat_units::Framing;

    fn filter(params: Params) -> impl Element {
        let service = Bucket::new(params, at_us(0));
        let (queue, rng) = (droptail(100_000), Rng::with_seed(0));
        Bottleneck::new(queue, service, Framing::default(), rng)
    }

    fn run(params: Params, arrivals: &[(Time, Packet)]) -> Log {
        let mut log = Log::default();
        let mut filter = filter(params);
        drive(&mut filter, arrivals, &mut log);
        run_until(&mut filter, Time::MAX, &mut log);
        log
    }

    const PARAMS: Params = Params {
        rate: Rate::bps(6_999_999),
        burst: Bytes::new(10_000),
        peak: None,
    };

    #[test]
    fn in_a_busy_period_departures_are_bytes_beyond_the_burst_over_the_rate() {
        let mut rng = Rng::with_seed(2);
        let arrivals: Vec<_> = (0..20_000)
            .map(|k| (at_us(3), packet(k, rng.u32(40..=1500))))
            .collect();
        let log = run(PARAMS, &arrivals);
        let mut bytes = 0i128;
        for (at, packet) in &log.delivered {
            bytes += i128::from(packet.len.as_u32());
            let beyond = (bytes - 10_000).max(0) * 8_000_000_000;
            let ns = (beyond + 6_999_998) / 6_999_999;
            assert_eq!(*at, at_us(3) + Delta::ns(ns as i64));
        }
        assert_eq!(log.delivered.len(), 20_000);
    }

    #[test]
    fn packets_as_large_as_the_bucket_lose_nothing_to_rounding() {
        let arrivals: Vec<_> = (0..7_000).map(|k| (at_us(0), packet(k, 10_000))).collect();
        let log = run(PARAMS, &arrivals);
        let ns = (6_999i128 * 80_000 * 1_000_000_000 + 6_999_998) / 6_999_999;
        assert_eq!(log.delivered[6_999].0.as_ns(), ns as i64);
    }

    #[test]
    fn in_any_interval_no_more_leaves_than_the_burst_and_the_rate_over_it() {
        let mut rng = Rng::with_seed(8);
        let mut now = 0;
        let arrivals: Vec<_> = (0..1_500)
            .map(|k| {
                // Bursts with pauses between.
                now += if rng.f64() < 0.02 {
                    rng.i64(0..30_000)
                } else {
                    rng.i64(0..900)
                };
                (at_us(now), packet(k, rng.u32(40..=1500)))
            })
            .collect();
        let out = run(PARAMS, &arrivals).delivered;
        for (first, (from, _)) in out.iter().enumerate() {
            let mut bytes = 0i128;
            for (until, packet) in &out[first..] {
                bytes += i128::from(packet.len.as_u32());
                // A departure is reported less than 1 ns after it happened.
                let span = i128::from((*until - *from).as_ns()) + 1;
                let bound = 10_000 * PER_BYTE + span * 6_999_999;
                assert!(bytes * PER_BYTE < bound);
            }
        }
    }

    #[test]
    fn a_peak_rate_spreads_the_burst() {
        let params = Params {
            rate: Rate::mbps(8),
            burst: Bytes::new(4_000),
            peak: Some(Peak {
                rate: Rate::mbps(80),
                mtu: Bytes::new(1_000),
            }),
        };
        let arrivals: Vec<_> = (0..6).map(|k| (at_us(0), packet(k, 1_000))).collect();
        let left: Vec<Time> = run(params, &arrivals)
            .delivered
            .iter()
            .map(|(at, _)| *at)
            .collect();
        // 1,000 bytes: 100 us at the peak, 1 ms at the rate; the burst of 4,000 has regained 300
        // bytes by the fourth packet.
        assert_eq!(left, [0, 100, 200, 300, 1_000, 2_000].map(at_us));
    }

    #[test]
    fn what_is_larger_than_the_bucket_is_dropped_and_said() {
        let log = run(
            PARAMS,
            &[(at_us(1), packet(0, 10_001)), (at_us(2), packet(1, 10_000))],
        );
        assert_eq!(log.drops(), [(at_us(1), 0, Reason::Oversize)]);
        assert_eq!(log.departures(), [(at_us(2), 1)]);
    }
}
