//! The least delay so far between two clocks that may drift apart.

use unbloat_units::{Delta, Time};

/// Crystals keep within 100 ppm of each other; what is disciplined by NTP does much better.
pub(super) const DRIFT_PPM: i64 = 100;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningFloor {
    least: Option<(Time, i64)>,
}

impl RunningFloor {
    /// Whether a delay lies below all before it, by more than clocks drift and `by`.
    #[inline]
    pub(super) fn is_undercut(&self, now: Time, us: i64, by: Delta) -> bool {
        self.least.is_some_and(|(at, least)| {
            let drift = now.since_bounded(at).as_us() * DRIFT_PPM / 1_000_000;
            us < least.saturating_sub(drift + by.as_us())
        })
    }

    /// How much a delay is above the floor, which it may lower.
    #[inline]
    pub(super) fn added(&mut self, now: Time, us: i64) -> Delta {
        if let Some((at, least)) = self.least {
            let drift = now.since_bounded(at).as_us() * DRIFT_PPM / 1_000_000;
            if us > least.saturating_add(drift) {
                return Delta::us(us.saturating_sub(least + drift));
            }
        }
        self.least = Some((now, us));
        Delta::ZERO
    }
}
