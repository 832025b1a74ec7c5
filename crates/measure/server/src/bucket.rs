//! A rate that all clients share.

use std::sync::Mutex;
use std::time::{Duration, Instant};
use unbloat_os::lock::lock;
use unbloat_units::Rate;

/// How far behind it may pay out: what is unused longer is lost.
const DEPTH: Duration = Duration::from_millis(20);

/// Gives credit: whoever takes waits afterwards, until the debt of all is paid. So nobody starves, and the order of
/// takers is that in which they came.
pub struct Bucket {
    rate: Option<Rate>,
    /// When the debt is paid.
    even: Mutex<Instant>,
}

impl Bucket {
    pub fn new(rate: Option<Rate>, now: Instant) -> Bucket {
        Bucket {
            rate,
            even: Mutex::new(now),
        }
    }

    /// Takes; when to take again, if not at once.
    pub fn take(&self, bytes: usize, now: Instant) -> Option<Instant> {
        let rate = self.rate?.as_bps().max(1);
        let nanos = (bytes as u128 * 8_000_000_000 / u128::from(rate)).min(3_600_000_000_000);
        let cost = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let mut even = lock(&self.even);
        let from = now
            .checked_sub(DEPTH)
            .map_or(*even, |floor| floor.max(*even));
        *even = from + cost;
        (*even > now).then_some(*even)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takers_wait_for_what_was_taken_before() {
        let now = Instant::now();
        let bucket = Bucket::new(Some(Rate::mbps(8)), now + Duration::from_millis(0));
        assert_eq!(
            bucket.take(1_000, now),
            Some(now + Duration::from_millis(1))
        );
        assert_eq!(
            bucket.take(1_000, now),
            Some(now + Duration::from_millis(2))
        );
        let later = now + Duration::from_secs(10);
        assert_eq!(bucket.take(20_000, later), None, "20 ms unused are kept");
        assert_eq!(
            bucket.take(1_000, later),
            Some(later + Duration::from_millis(1))
        );
    }

    #[test]
    fn without_a_rate_nobody_waits() {
        assert_eq!(
            Bucket::new(None, Instant::now()).take(usize::MAX, Instant::now()),
            None
        );
    }
}
