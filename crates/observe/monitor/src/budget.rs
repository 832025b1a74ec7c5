//! Bounds on what the monitor does to others: bytes of tests, and alerts.

use std::collections::VecDeque;
use unbloat_units::{Bytes, Delta, Time};

/// Bytes that tests may move within any 24 hours of the monitor's clock.
#[derive(Clone, Debug)]
pub struct Budget {
    per_day: Bytes,
    spent: VecDeque<(Time, u64)>,
}

impl Budget {
    const DAY: Delta = Delta::secs(86_400);
    /// Tests that are remembered one by one; older ones are summed up.
    const MOST: usize = 1_024;

    pub fn new(per_day: Bytes) -> Budget {
        Budget {
            per_day,
            spent: VecDeque::new(),
        }
    }

    /// What is left now.
    pub fn left(&mut self, now: Time) -> Bytes {
        while self
            .spent
            .front()
            .is_some_and(|(at, _)| now.since(*at) >= Self::DAY)
        {
            self.spent.pop_front();
        }
        let spent: u64 = self.spent.iter().map(|(_, bytes)| bytes).sum();
        Bytes::new(self.per_day.as_u64().saturating_sub(spent))
    }

    pub fn spend(&mut self, now: Time, bytes: Bytes) {
        if self.spent.len() >= Self::MOST
            && let Some((_, oldest)) = self.spent.pop_front()
            && let Some((_, next)) = self.spent.front_mut()
        {
            *next = next.saturating_add(oldest);
        }
        self.spent.push_back((now, bytes.as_u64()));
    }
}

/// Alerts: at most so many within an hour of the monitor's clock.
#[derive(Clone, Debug)]
pub struct Alerts {
    per_hour: usize,
    sent: VecDeque<Time>,
    /// That were not sent.
    pub held_back: u64,
}

impl Alerts {
    const HOUR: Delta = Delta::secs(3_600);

    pub fn new(per_hour: usize) -> Alerts {
        Alerts {
            per_hour,
            sent: VecDeque::new(),
            held_back: 0,
        }
    }

    /// Whether one more may be sent now; it counts as sent then.
    pub fn may_send(&mut self, now: Time) -> bool {
        while self
            .sent
            .front()
            .is_some_and(|at| now.since(*at) >= Self::HOUR)
        {
            self.sent.pop_front();
        }
        let may = self.sent.len() < self.per_hour;
        match may {
            true => self.sent.push_back(now),
            false => self.held_back += 1,
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: i64) -> Time {
        Time::from_ns(0) + Delta::secs(s)
    }

    #[test]
    fn a_day_of_tests_stays_within_the_budget_and_the_next_has_a_new_one() {
        let mut budget = Budget::new(Bytes::new(1_000));
        budget.spend(at(0), Bytes::new(600));
        budget.spend(at(3_600), Bytes::new(300));
        assert_eq!(budget.left(at(7_200)), Bytes::new(100));
        assert_eq!(budget.left(at(86_400)), Bytes::new(700));
        for n in 0..5_000 {
            budget.spend(at(90_000 + n), Bytes::new(1));
        }
        assert_eq!(budget.left(at(96_000)), Bytes::ZERO);
        assert!(budget.spent.len() <= Budget::MOST);
    }

    #[test]
    fn alerts_beyond_the_bound_are_held_back_and_counted() {
        let mut alerts = Alerts::new(2);
        let sent = [0, 10, 20, 3_599, 3_600].map(|s| alerts.may_send(at(s)));
        assert_eq!(sent, [true, true, false, false, true]);
        assert_eq!(alerts.held_back, 2);
    }
}
