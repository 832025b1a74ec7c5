//! A periodic timer for disciplines that are only called with packets: they catch up.

use unbloat_units::{Delta, Time};

/// Ticks from `first` after the first call on, every `period`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticker {
    next: Option<Time>,
    first: Delta,
    period: Delta,
}

impl Ticker {
    pub(crate) fn new(first: Delta, period: Delta) -> Ticker {
        Ticker {
            next: None,
            first,
            period: period.max(Delta::ns(1)),
        }
    }

    /// The earliest tick that has fallen due and was not returned before.
    #[inline]
    pub(crate) fn due(&mut self, now: Time) -> Option<Time> {
        let next = *self.next.get_or_insert(now + self.first);
        if next > now {
            return None;
        }
        self.next = Some(next + self.period);
        Some(next)
    }

    /// Leaves out all ticks that have fallen due, and tells how many: for a state that ticks no
    /// longer change, or change by a rule.
    pub(crate) fn skip(&mut self, now: Time) -> i64 {
        match self.next {
            Some(next) if next <= now => {
                let missed = now.since(next).as_ns() / self.period.as_ns() + 1;
                self.next = Some(next + self.period * missed);
                missed
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_fall_due_in_order_and_keep_their_grid_when_skipped() {
        let at = |ms| Time::from_ns(0) + Delta::ms(ms);
        let mut ticker = Ticker::new(Delta::ms(500), Delta::ms(15));
        assert_eq!(ticker.due(at(100)), None);
        assert_eq!(ticker.due(at(620)), Some(at(600)));
        assert_eq!(ticker.due(at(620)), Some(at(615)));
        assert_eq!(ticker.due(at(620)), None);
        assert_eq!(ticker.skip(at(700)), 5);
        assert_eq!(ticker.due(at(704)), None);
        assert_eq!(ticker.due(at(705)), Some(at(705)));
    }
}
