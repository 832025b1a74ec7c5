//! The retransmission timeout that a sender computes from round trips.

use unbloat_units::Delta;

/// Smoothed round trip and timeout (RFC 6298 §2), in 16 bytes.
///
/// The variance term has the floor of 200 ms that Linux gives it, not the timeout the floor of 1 s
/// of the RFC, which no common system follows (§5 of the paper says so too). Each sample counts
/// with the RFC's weights, however many there are in a round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RtoEstimator {
    /// Both in nanoseconds: round trips are shorter than 71 minutes, so nothing has to saturate.
    srtt: i64,
    variance: i64,
}

impl RtoEstimator {
    const MIN_VARIANCE_TERM: Delta = Delta::ms(200);

    #[inline]
    pub(super) fn add(&mut self, rtt: Delta) {
        let rtt = rtt.as_ns();
        if self.srtt == 0 {
            self.srtt = rtt;
            self.variance = rtt / 2;
            return;
        }
        let error = rtt - self.srtt;
        self.variance += (error.abs() - self.variance) / 4;
        self.srtt += error / 8;
    }

    /// `None` before the first sample.
    pub(super) fn rto(&self) -> Option<Delta> {
        let term = (Delta::ns(self.variance) * 4).max(Self::MIN_VARIANCE_TERM);
        (self.srtt > 0).then(|| Delta::ns(self.srtt) + term)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_samples_are_those_of_the_rfc() {
        let mut estimator = RtoEstimator::default();
        assert_eq!(estimator.rto(), None);
        estimator.add(Delta::ms(400));
        // SRTT = R, RTTVAR = R/2: RTO = 400 + 4 * 200.
        assert_eq!(estimator.rto(), Some(Delta::ms(1200)));
        estimator.add(Delta::ms(480));
        // RTTVAR = 200 + (80 - 200)/4 = 170, SRTT = 400 + 80/8 = 410.
        assert_eq!(estimator.rto(), Some(Delta::ms(410 + 680)));
    }

    #[test]
    fn a_steady_round_trip_gives_200_ms_above_it() {
        let mut estimator = RtoEstimator::default();
        (0..100).for_each(|_| estimator.add(Delta::ms(90)));
        assert_eq!(estimator.rto(), Some(Delta::ms(290)));
    }
}
