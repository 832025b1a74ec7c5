//! When the next certificate is to be had.

use crate::validity::Validity;
use unbloat_units::{Delta, Time};

/// After a failure; doubled with each further one.
const FIRST_RETRY: Delta = Delta::secs(600);
const LAST_RETRY: Delta = Delta::secs(12 * 3600);
/// For certificates that live for minutes.
const SHORTEST_RETRY: Delta = Delta::secs(2);

/// The same moment by both clocks: the wall clock, which certificates are dated by and which may be set, and one that only goes on.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub wall: Time,
    pub monotonic: Time,
}

impl Now {
    pub fn read() -> Now {
        Now {
            wall: unbloat_os::clock::wall(),
            monotonic: unbloat_os::clock::monotonic(),
        }
    }
}

/// Whichever clock says so first: one that is set back does not let a certificate expire, and one that is set forward renews it.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    wall: Option<Time>,
    monotonic: Time,
    failures: u32,
    /// Of the certificate in use.
    length: Option<Delta>,
}

impl Schedule {
    /// With two thirds of its life over, as Let's Encrypt recommends, a certificate is renewed; without one it is had at once.
    pub fn of(found: Option<Validity>, now: Now) -> Schedule {
        let due = found.map(|validity| {
            let third = Delta::ns(validity.length().as_ns() / 3);
            validity.until + Delta::ns(-third.as_ns())
        });
        let wait = due.map_or(Delta::default(), |due| due.since(now.wall));
        Schedule {
            wall: due,
            monotonic: now.monotonic + wait,
            failures: 0,
            length: found.map(Validity::length),
        }
    }

    pub fn is_due(&self, now: Now) -> bool {
        now.monotonic >= self.monotonic || self.wall.is_some_and(|due| now.wall >= due)
    }

    /// Waits longer after each failure, because authorities count them; returns how long.
    pub fn failed(&mut self, now: Now) -> Delta {
        let hundredth = self.length.map(|length| Delta::ns(length.as_ns() / 100));
        let first = hundredth.map_or(FIRST_RETRY, |span| span.clamp(SHORTEST_RETRY, FIRST_RETRY));
        let factor = 1_i64 << self.failures.min(16);
        let wait = Delta::ns(first.as_ns().saturating_mul(factor)).min(LAST_RETRY);
        self.failures += 1;
        self.wall = None;
        self.monotonic = now.monotonic + wait;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Delta = Delta::secs(86_400);

    fn after(span: Delta) -> Now {
        Now {
            wall: Time::from_ns(1_700_000_000_000_000_000) + span,
            monotonic: Time::from_ns(5) + span,
        }
    }

    fn ninety_days() -> Validity {
        let from = after(Delta::default()).wall;
        Validity {
            from,
            until: from + days(90),
        }
    }

    fn days(n: i64) -> Delta {
        Delta::ns(n * DAY.as_ns())
    }

    #[test]
    fn a_certificate_is_renewed_with_a_third_of_its_life_left() {
        let schedule = Schedule::of(Some(ninety_days()), after(days(1)));
        assert!(!schedule.is_due(after(days(59))));
        assert!(schedule.is_due(after(days(60))));
        assert!(Schedule::of(Some(ninety_days()), after(days(100))).is_due(after(days(100))));
        assert!(Schedule::of(None, after(days(1))).is_due(after(days(1))));
    }

    #[test]
    fn a_clock_that_is_set_does_not_let_it_expire() {
        let schedule = Schedule::of(Some(ninety_days()), after(Delta::default()));
        let set_back = |span| Now {
            wall: Time::from_ns(0),
            ..after(span)
        };
        assert!(!schedule.is_due(set_back(days(59))));
        assert!(schedule.is_due(set_back(days(60))));
        let set_forward = Now {
            wall: after(days(70)).wall,
            ..after(days(1))
        };
        assert!(schedule.is_due(set_forward));
    }

    #[test]
    fn failures_are_repeated_ever_more_rarely() {
        let mut schedule = Schedule::of(Some(ninety_days()), after(days(60)));
        let waits: Vec<_> = (0..20).map(|_| schedule.failed(after(days(60)))).collect();
        assert_eq!(waits[..3], [600, 1200, 2400].map(Delta::secs));
        assert_eq!(waits[19], LAST_RETRY);
        let due = after(days(60) + LAST_RETRY);
        assert!(schedule.is_due(due) && !schedule.is_due(after(days(60))));
        // Let's Encrypt accepts five failures of a name within an hour.
        let early = waits.iter().scan(Delta::default(), |sum, wait| {
            *sum += *wait;
            Some(*sum)
        });
        assert!(early.filter(|at| *at <= Delta::secs(3600)).count() < 5);
    }
}
