//! A file: how long until it is through.

use super::bulk::REQUEST;
use crate::metrics::Metric;
use crate::workload::{Conn, Happening, Network, Workload};
use serde::Deserialize;
use unbloat_units::{Bytes, Delta, Direction, Time};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    pub direction: Direction,
    pub size: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            direction: Direction::Down,
            size: Bytes::new(1_000_000),
        }
    }
}

#[derive(Debug)]
pub struct State {
    params: Params,
    start: Time,
    done: Option<Time>,
    read: Bytes,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            start: Time::from_ns(0),
            done: None,
            read: Bytes::ZERO,
        }
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.start = now;
        match self.params.direction {
            Direction::Down => network.exchange(Conn(0), REQUEST, self.params.size),
            Direction::Up => network.exchange(Conn(0), self.params.size, Bytes::ZERO),
        }
        network.close(Conn(0));
    }

    fn on_happening(&mut self, now: Time, happening: Happening, _network: &mut dyn Network) {
        let Happening::Read {
            direction, bytes, ..
        } = happening
        else {
            return;
        };
        if direction == self.params.direction {
            self.read += bytes;
            if self.read >= self.params.size {
                self.done.get_or_insert(now);
            }
        }
    }

    /// From the first SYN to the last byte; no value when it never came. Warm-up is not left out: the start is part of it.
    fn metrics(&self, _from: Time, _now: Time) -> Vec<Metric> {
        let Some(done) = self.done else {
            return vec![Metric::new("unfinished", 1.0)];
        };
        let took = done.since(self.start);
        let rate = self
            .params
            .size
            .over(took)
            .map(|rate| Metric::new("goodput_bps", rate.as_bps_f64()));
        let time = [
            Metric::new("completion_ms", took.as_ms()),
            Metric::new("unfinished", 0.0),
        ];
        time.into_iter().chain(rate).collect()
    }

    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        if let Some(done) = self.done {
            tell("completion", done, done.since(self.start));
        }
    }
}
