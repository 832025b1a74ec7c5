//! Echo at a fixed pace: the delay that everyone else sees.

use crate::metrics::{Metric, Spans};
use crate::workload::{Happening, Network, Workload};
use serde::Deserialize;
use unbloat_units::{Bytes, Delta, Direction, Time};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    pub every: Delta,
    /// IP length, as `ping` without options sends it.
    pub size: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            every: Delta::ms(100),
            size: Bytes::new(84),
        }
    }
}

/// How long an answer may take at least.
const LINGER: Delta = Delta::secs(10);

#[derive(Debug)]
pub struct State {
    params: Params,
    sent: Vec<Time>,
    /// By number.
    answered: Vec<bool>,
    times: Spans,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            sent: Vec::new(),
            answered: Vec::new(),
            times: Spans::default(),
        }
    }

    fn send(&mut self, now: Time, network: &mut dyn Network) {
        network.datagram(Direction::Up, self.sent.len() as u64, self.params.size);
        self.sent.push(now);
        self.answered.push(false);
        if self.params.every > Delta::ZERO {
            network.wake(now + self.params.every, 0);
        }
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.send(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        match happening {
            Happening::Woke { .. } => self.send(now, network),
            Happening::Arrived {
                direction: Direction::Up,
                number,
                ..
            } => {
                network.datagram(Direction::Down, number, self.params.size);
            }
            Happening::Arrived {
                direction: Direction::Down,
                number,
                ..
            } => {
                self.answered[number as usize] = true;
                self.times.push(now, now.since(self.sent[number as usize]));
            }
            _ => {}
        }
    }

    /// `unanswered` counts the pings since `from` that are lost, as far as can be known: a later one was answered, or they are older
    /// than `ping` waits for (iputils: twice the longest round trip, and 10 s without any). Others are `in_flight`.
    fn metrics(&self, from: Time, now: Time) -> Vec<Metric> {
        let mut metrics = self.times.metrics("rtt", from);
        let newest = self.answered.iter().rposition(|is_answered| *is_answered);
        let longest = self.times.since(Time::MIN).into_iter().max();
        let patience = longest.map_or(LINGER, |rtt| LINGER.max(rtt * 2));
        let open = self.sent.iter().zip(&self.answered).enumerate();
        let open = open.filter(|(_, (sent, is_answered))| **sent >= from && !**is_answered);
        let (lost, in_flight): (Vec<_>, Vec<_>) = open.partition(|(number, (sent, _))| {
            newest.is_some_and(|newest| *number < newest) || now.since(**sent) > patience
        });
        metrics.push(Metric::new("unanswered", lost.len() as f64));
        metrics.push(Metric::new("in_flight", in_flight.len() as f64));
        metrics
    }

    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        self.times.each("rtt", tell);
    }
}
