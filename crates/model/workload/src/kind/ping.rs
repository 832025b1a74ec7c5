//! Echo at a fixed pace: the delay that everyone else sees.

use crate::answers::Answers;
use crate::metrics::Metric;
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

#[derive(Debug)]
pub struct State {
    params: Params,
    answers: Answers,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            answers: Answers::default(),
        }
    }

    fn send(&mut self, now: Time, network: &mut dyn Network) {
        network.datagram(Direction::Up, self.answers.next(), self.params.size);
        self.answers.sent(now);
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
            } => self.answers.answered(now, number),
            _ => {}
        }
    }

    fn metrics(&self, from: Time, now: Time) -> Vec<Metric> {
        self.answers.metrics("", from, now)
    }

    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        self.answers.times.each("rtt", tell);
    }
}
