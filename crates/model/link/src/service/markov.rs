//! A Markov-modulated rate: a chain of states, each with a rate, held for exponential times.

use super::Service;
use super::profile::{self, Profile};
use super::work::Ahead;
use fastrand::Rng;
use unbloat_units::{Delta, Rate, Time};

/// One state of the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub rate: Rate,
    /// Mean of the exponential time in the state; at least 100 us.
    pub mean_stay: Delta,
    /// Weight of each state as the next one, in their order; empty for all others alike.
    pub next: Vec<f64>,
}

/// The chain begins in its first state.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    pub states: Vec<State>,
}

/// A link whose rate jumps between the states. Stays are rounded to whole nanoseconds. A packet that
/// is not sent after a million jumps never leaves.
#[derive(Clone, Debug)]
pub struct Markov {
    chain: Chain,
    ahead: Ahead,
}

impl Markov {
    pub fn new(params: &Params, start: Time, rng: Rng) -> Markov {
        Markov {
            chain: Chain::new(params.states.clone(), start, rng),
            ahead: Ahead::default(),
        }
    }

    /// What it can send from one point to a later one; asked before it has sent anything.
    pub(crate) fn carried(&self, from: Time, until: Time) -> i128 {
        self.chain.clone().work(from, until)
    }

    pub(crate) fn build(params: &Params, start: Time, rng: &mut Rng) -> Markov {
        Markov::new(params, start, rng.fork())
    }
}

impl Service for Markov {
    fn ready(&mut self, now: Time, busy: bool) -> Time {
        if !busy {
            self.ahead.reset();
        }
        now
    }

    fn finish(&mut self, begin: Time, wire_bytes: u64) -> Time {
        if self.chain.states.iter().all(|s| s.rate == Rate::ZERO) {
            return Time::MAX;
        }
        profile::finish(&mut self.chain, &mut self.ahead, begin, wire_bytes)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Chain {
    states: Vec<State>,
    current: usize,
    until: Time,
    rng: Rng,
}

impl Chain {
    pub(crate) fn new(states: Vec<State>, start: Time, rng: Rng) -> Chain {
        let mut chain = Chain {
            states,
            current: 0,
            until: Time::MAX,
            rng,
        };
        if let Some(first) = chain.states.first().map(|state| state.mean_stay) {
            chain.until = start + exponential(first, &mut chain.rng);
        }
        chain
    }

    fn jump(&mut self) {
        match draw_next(&self.states, self.current, &mut self.rng) {
            Some(next) => {
                self.current = next;
                let mean = self.states[next].mean_stay;
                self.until += exponential(mean, &mut self.rng);
            }
            None => self.until = Time::MAX,
        }
    }
}

impl Profile for Chain {
    fn step(&mut self, now: Time) -> (Rate, Time) {
        while self.until <= now && self.until < Time::MAX {
            self.jump();
        }
        (self.states[self.current].rate, self.until)
    }
}

/// None from a state that is never left.
fn draw_next(states: &[State], current: usize, rng: &mut Rng) -> Option<usize> {
    let weight = |index: usize| match states[current].next.get(index) {
        _ if states[current].next.is_empty() => f64::from(u8::from(index != current)),
        Some(weight) => weight.max(0.0),
        None => 0.0,
    };
    let total: f64 = (0..states.len()).map(weight).sum();
    let mut point = rng.f64() * total;
    let mut last = None;
    for index in (0..states.len()).filter(|index| weight(*index) > 0.0) {
        last = Some(index);
        point -= weight(index);
        if point < 0.0 {
            break;
        }
    }
    last
}

/// At least a nanosecond, so that a chain always moves on.
fn exponential(mean: Delta, rng: &mut Rng) -> Delta {
    let mean = mean.max(Delta::us(100));
    Delta::from_secs_f64(-(1.0 - rng.f64()).ln() * mean.as_secs()).max(Delta::ns(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(mbps: u64, ms: i64) -> State {
        State {
            rate: Rate::mbps(mbps),
            mean_stay: Delta::ms(ms),
            next: Vec::new(),
        }
    }

    fn chain(states: &[State], seed: u64) -> Chain {
        Chain::new(states.to_vec(), Time::from_ns(0), Rng::with_seed(seed))
    }

    #[test]
    fn shares_of_time_are_those_of_the_stationary_distribution() {
        // Out of the first state to the second or third at 3:1, back always to the first: visits
        // 4:3:1, times stay 100, 200, 400 ms, so time 4:6:4 of 14.
        let mut states = [state(1, 100), state(2, 200), state(4, 400)];
        states[0].next = vec![0.0, 3.0, 1.0];
        states[1].next = vec![1.0];
        states[2].next = vec![1.0, 0.0, 0.0];
        let mut chain = chain(&states, 11);
        let (mut now, mut time) = (Time::from_ns(0), [0.0; 3]);
        while now < Time::from_ns(20_000_000_000_000) {
            let (rate, until) = chain.step(now);
            let which = [1, 2, 4]
                .iter()
                .position(|m| Rate::mbps(*m) == rate)
                .unwrap();
            time[which] += (until - now).as_secs();
            now = until;
        }
        let total: f64 = time.iter().sum();
        for (got, expected) in time.iter().zip([4.0 / 14.0, 6.0 / 14.0, 4.0 / 14.0]) {
            // 20,000 s hold about 57,000 rounds of 0.35 s: a standard error near 0.002.
            assert!((got / total - expected).abs() < 0.008, "{time:?}");
        }
    }

    #[test]
    fn a_busy_server_delivers_the_integral_of_the_rates_drawn() {
        let states = [state(3, 7), state(0, 2), state(11, 5)];
        let mut service = Markov::new(
            &Params {
                states: states.to_vec(),
            },
            Time::from_ns(0),
            Rng::with_seed(4),
        );
        let mut same = chain(&states, 4);
        let (mut at, mut step) = (Time::from_ns(0), (Time::from_ns(0), 0i128));
        for n in 1..=5_000i128 {
            let begin = service.ready(at, n > 1);
            at = service.finish(begin, 1000);
            // Work done by the last whole step before the departure, and then in its own step.
            let needed = n * 8_000_000_000_000;
            let (mut from, mut sum) = step;
            let (rate, since) = loop {
                let (rate, until) = same.clone().step(from);
                if until >= at {
                    break (rate, from);
                }
                sum += i128::from((until - from).as_ns()) * i128::from(rate.as_bps());
                from = until;
                same.step(from);
            };
            step = (from, sum);
            let by = |t: Time| sum + i128::from((t - since).as_ns()) * i128::from(rate.as_bps());
            assert!(by(at) >= needed && by(at - Delta::ns(1)) < needed);
        }
    }

    #[test]
    fn an_absorbing_state_without_a_rate_delivers_no_more() {
        let mut states = [state(8, 1), state(0, 1)];
        states[1].next = vec![0.0, 0.0];
        let mut service = Markov::new(
            &Params {
                states: states.to_vec(),
            },
            Time::from_ns(0),
            Rng::with_seed(1),
        );
        assert_eq!(service.finish(Time::from_ns(0), 1_000_000_000), Time::MAX);
    }
}
