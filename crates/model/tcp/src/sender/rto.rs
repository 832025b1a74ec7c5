//! Round-trip time and retransmission timeout.
//!
//! # References
//! RFC 6298; Linux 6.12 `tcp_rtt_estimator`, `__tcp_set_rto`.
//!
//! # Where we differ
//! 1. RFC 6298 has a floor of 1 s on the timeout; as in Linux, the floor of 200 ms is on the
//!    variation, so that the timeout is never less than the smoothed time plus 200 ms. Variation
//!    falls at most by a quarter a round, and grows less when the round-trip time falls.
//! 2. Linux rounds timeouts to its ticks (4 ms at 250 a second); we keep microseconds.

use unbloat_params::defaults;
use unbloat_units::Delta;

defaults! {
    /// Bounds of the retransmission timeout.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        pub min: Delta = Delta::ms(200);
        pub max: Delta = Delta::secs(120);
        /// Before the first sample.
        pub initial: Delta = Delta::secs(1);
    }
}

/// All times in microseconds; `srtt8` and `mdev4` carry fractions.
#[derive(Clone, Debug)]
pub(super) struct Rto {
    min: u32,
    max: u32,
    pub srtt8: u32,
    mdev4: u32,
    mdev_max: u32,
    rttvar: u32,
    /// The round ends when this is acknowledged.
    round: u64,
    /// Timeout with back-off.
    pub rto: u32,
    pub backoff: u8,
}

impl Rto {
    pub(super) fn new(params: Params) -> Rto {
        let us = |d: Delta| d.as_us().clamp(1, i64::from(u32::MAX)) as u32;
        Rto {
            min: us(params.min),
            max: us(params.max),
            srtt8: 0,
            mdev4: us(params.initial),
            mdev_max: 0,
            rttvar: 0,
            round: 0,
            rto: us(params.initial),
            backoff: 0,
        }
    }

    /// Takes in a sample of at least one microsecond.
    pub(super) fn sample(&mut self, rtt: u32, snd_una: u64, snd_nxt: u64) {
        if self.srtt8 == 0 {
            self.first(rtt, snd_nxt);
        } else {
            self.next(rtt);
            self.end_round(snd_una, snd_nxt);
        }
        self.backoff = 0;
        self.rto = ((self.srtt8 >> 3) + self.rttvar).min(self.max);
    }

    fn first(&mut self, rtt: u32, snd_nxt: u64) {
        self.srtt8 = (rtt << 3).max(1);
        self.mdev4 = rtt << 1;
        self.rttvar = self.mdev4.max(self.min);
        self.mdev_max = self.rttvar;
        self.round = snd_nxt;
    }

    fn next(&mut self, rtt: u32) {
        let error = i64::from(rtt) - i64::from(self.srtt8 >> 3);
        self.srtt8 = (i64::from(self.srtt8) + error).max(1) as u32;
        let mut change = error.abs() - i64::from(self.mdev4 >> 2);
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.mdev4 = (i64::from(self.mdev4) + change) as u32;
        if self.mdev4 > self.mdev_max {
            self.mdev_max = self.mdev4;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
    }

    fn end_round(&mut self, snd_una: u64, snd_nxt: u64) {
        if snd_una > self.round {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.round = snd_nxt;
            self.mdev_max = self.min;
        }
    }

    /// Doubles the timeout after it expired (RFC 6298 section 5.5).
    pub(super) fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
        self.rto = self.rto.saturating_mul(2).min(self.max);
    }

    pub(super) fn floor(&self) -> u32 {
        self.min
    }

    /// Time until the next probe of a closed window.
    pub(super) fn window_probe(&self) -> u64 {
        let base = u64::from(self.rto.max(self.min));
        // More doublings than lead from the least to the largest timeout change nothing.
        (base << self.backoff.min(10)).min(u64::from(self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_sets_three_times_itself_or_the_floor_above_it() {
        let mut rto = Rto::new(Params::default());
        assert_eq!(rto.rto, 1_000_000);
        rto.sample(100_000, 1, 2);
        assert_eq!((rto.srtt8 >> 3, rto.rto), (100_000, 300_000));
        let mut long = Rto::new(Params::default());
        long.sample(400_000, 1, 2);
        assert_eq!(long.rto, 1_200_000);
    }

    #[test]
    fn constant_round_trips_settle_at_the_floor_above_the_smoothed_time() {
        let mut rto = Rto::new(Params::default());
        for n in 0..200 {
            rto.sample(400_000, n, n);
        }
        // Variation tends to the floor, by a quarter of the excess a round.
        assert_eq!(rto.srtt8 >> 3, 400_000);
        assert!((600_000..600_010).contains(&rto.rto), "{}", rto.rto);
    }

    #[test]
    fn timeouts_double_up_to_the_limit_and_a_sample_ends_that() {
        let mut rto = Rto::new(Params::default());
        rto.sample(100_000, 1, 2);
        for expected in [
            600, 1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 76_800, 120_000, 120_000,
        ] {
            rto.back_off();
            assert_eq!(rto.rto, expected * 1_000);
        }
        rto.sample(100_000, 2, 3);
        assert_eq!(rto.rto, 300_000);
    }
}
