//! Spans in which nothing passes: packets are lost, or held until the end.

use super::{Ring, chance, uniform};
use crate::seam::{Element, Output};
use fastrand::Rng;
use std::collections::VecDeque;
use unbloat_qdisc::{Backlog, Event, Packet, Reason};
use unbloat_units::{Delta, Time};

#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    pub when: When,
    pub effect: Effect,
}

/// When outages are.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// After how long each begins, and how long it takes. Those that meet become one.
    At(Vec<(Delta, Delta)>),
    Random {
        /// Mean of the exponential time from the end of one to the start of the next; at least 100 us.
        every: Delta,
        /// Lengths are uniform between these.
        shortest: Delta,
        longest: Delta,
    },
}

/// What an outage does to a packet that comes within it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// It is lost with this probability.
    Lose(f64),
    /// It waits for the end, as behind a radio link that does not give up.
    Hold,
}

/// A stretch of path with outages. A packet that comes at the very end of one passes.
#[derive(Debug)]
pub struct Outage {
    effect: Effect,
    windows: Windows,
    held: Ring,
}

impl Outage {
    pub fn new(params: &Params, start: Time, rng: Rng) -> Outage {
        Outage {
            effect: params.effect,
            windows: Windows::new(&params.when, start, rng),
            held: Ring::default(),
        }
    }

    pub(crate) fn build(params: &Params, start: Time, rng: &mut Rng) -> Outage {
        Outage::new(params, start, rng.fork())
    }
}

impl Element for Outage {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        match (self.windows.end_if_within(now), self.effect) {
            (None, _) => out.deliver(now, packet),
            (Some(end), Effect::Hold) => self.held.push(end, packet),
            (Some(_), Effect::Lose(loss)) => {
                if chance(loss, &mut self.windows.rng) {
                    let reason = Reason::Outage;
                    out.event(now, Event::Dropped { packet, reason });
                } else {
                    out.deliver(now, packet);
                }
            }
        }
    }

    fn next_at(&self) -> Option<Time> {
        self.held.next_at()
    }

    fn advance(&mut self, now: Time, out: &mut impl Output) {
        self.held.deliver_due(now, out);
    }

    fn backlog(&self) -> Backlog {
        self.held.backlog()
    }
}

/// The outages one after the other, as time goes on.
#[derive(Debug)]
struct Windows {
    listed: VecDeque<(Time, Time)>,
    random: Option<(Delta, Delta, Delta)>,
    current: Option<(Time, Time)>,
    rng: Rng,
}

impl Windows {
    fn new(when: &When, start: Time, rng: Rng) -> Windows {
        let (listed, random) = match when {
            When::At(list) => (merged(list, start), None),
            When::Random {
                every,
                shortest,
                longest,
            } => (VecDeque::new(), Some((*every, *shortest, *longest))),
        };
        let mut windows = Windows {
            listed,
            random,
            current: None,
            rng,
        };
        windows.current = windows.after(start);
        windows
    }

    /// The end of the outage that `now` lies in.
    fn end_if_within(&mut self, now: Time) -> Option<Time> {
        while let Some((_, end)) = self.current
            && end <= now
        {
            self.current = self.after(end);
        }
        self.current
            .filter(|(start, _)| *start <= now)
            .map(|(_, end)| end)
    }

    fn after(&mut self, last_end: Time) -> Option<(Time, Time)> {
        let Some((every, shortest, longest)) = self.random else {
            return self.listed.pop_front();
        };
        // However short, time moves on.
        let every = every.max(Delta::us(100));
        let wait = -(1.0 - self.rng.f64()).ln() * every.as_secs();
        let start = last_end + Delta::from_secs_f64(wait).max(Delta::us(1));
        let length = shortest + uniform(longest - shortest, &mut self.rng);
        Some((start, start + length.max(Delta::us(1))))
    }
}

fn merged(list: &[(Delta, Delta)], start: Time) -> VecDeque<(Time, Time)> {
    let mut spans: Vec<(Time, Time)> = list
        .iter()
        .filter(|(_, length)| *length > Delta::ZERO)
        .map(|(after, length)| (start + *after, start + *after + *length))
        .collect();
    spans.sort();
    let mut merged: VecDeque<(Time, Time)> = VecDeque::new();
    for (from, until) in spans {
        match merged.back_mut() {
            Some((_, end)) if *end >= from => *end = until.max(*end),
            _ => merged.push_back((from, until)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Log, at_ms, drive, packet, run_until};

    fn run(params: &Params, arrivals_ms: &[i64]) -> Log {
        let mut outage = Outage::new(params, at_ms(0), Rng::with_seed(7));
        let arrivals: Vec<_> = (0..)
            .zip(arrivals_ms)
            .map(|(k, ms)| (at_ms(*ms), packet(k, 40)))
            .collect();
        let mut log = Log::default();
        drive(&mut outage, &arrivals, &mut log);
        run_until(&mut outage, Time::MAX, &mut log);
        log
    }

    fn listed(effect: Effect) -> Params {
        let spans = [(30, 10), (10, 5), (14, 6), (50, 0)];
        let spans = spans.map(|(after, length)| (Delta::ms(after), Delta::ms(length)));
        Params {
            when: When::At(spans.to_vec()),
            effect,
        }
    }

    #[test]
    fn what_comes_from_the_start_of_an_outage_until_before_its_end_is_lost() {
        let log = run(
            &listed(Effect::Lose(1.0)),
            &[9, 10, 15, 19, 20, 29, 30, 39, 40, 50],
        );
        let lost: Vec<_> = log.drops();
        let expected = [(10, 1), (15, 2), (19, 3), (30, 6), (39, 7)];
        assert_eq!(lost, expected.map(|(ms, k)| (at_ms(ms), k, Reason::Outage)));
        assert_eq!(log.delivered.len(), 5);
    }

    #[test]
    fn what_is_held_leaves_in_order_at_the_end() {
        let log = run(&listed(Effect::Hold), &[9, 10, 15, 20, 35, 41]);
        let expected = [(9, 0), (20, 1), (20, 2), (20, 3), (40, 4), (41, 5)];
        assert_eq!(log.departures(), expected.map(|(ms, k)| (at_ms(ms), k)));
    }

    #[test]
    fn random_outages_take_their_share_of_time() {
        let when = When::Random {
            every: Delta::ms(300),
            shortest: Delta::ms(50),
            longest: Delta::ms(150),
        };
        let effect = Effect::Lose(1.0);
        let every_ms: Vec<i64> = (0..400_000).collect();
        let lost = run(&Params { when, effect }, &every_ms).drops().len();
        // A quarter of 400 s: 1,000 rounds of 400 ms, whose waits vary by 300: sd 0.6 %.
        assert!((97_000..103_000).contains(&lost), "{lost}");
    }
}
