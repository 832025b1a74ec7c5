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

#[derive(Debug)]
pub struct State {
    params: Params,
    sent: Vec<Time>,
    answered: u64,
    times: Spans,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            sent: Vec::new(),
            answered: 0,
            times: Spans::default(),
        }
    }

    fn send(&mut self, now: Time, network: &mut dyn Network) {
        network.datagram(Direction::Up, self.sent.len() as u64, self.params.size);
        self.sent.push(now);
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
                self.answered += 1;
                self.times.push(now, now.since(self.sent[number as usize]));
            }
            _ => {}
        }
    }

    /// `unanswered` counts those still on their way at the end too.
    fn metrics(&self, from: Time, _now: Time) -> Vec<Metric> {
        let mut metrics = self.times.metrics("rtt", from);
        metrics.push(Metric::new(
            "unanswered",
            self.sent.len() as f64 - self.answered as f64,
        ));
        metrics
    }
}
