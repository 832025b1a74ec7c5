//! Periodic range requests over one connection, as players and stores do (SIGCOMM'13 section 7.1).

use super::bulk::REQUEST;
use crate::metrics::{Metric, Spans};
use crate::workload::{Conn, Happening, Network, Workload};
use serde::Deserialize;
use std::collections::VecDeque;
use unbloat_units::{Bytes, Delta, Time};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    pub size: Bytes,
    pub every: Delta,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            size: Bytes::mib(1),
            every: Delta::secs(10),
        }
    }
}

#[derive(Debug)]
pub struct State {
    params: Params,
    /// When the requests that are not yet answered were made.
    open: VecDeque<Time>,
    times: Spans,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            open: VecDeque::new(),
            times: Spans::default(),
        }
    }

    fn ask(&mut self, now: Time, network: &mut dyn Network) {
        self.open.push_back(now);
        network.exchange(Conn(0), REQUEST, self.params.size);
        if self.params.every > Delta::ZERO {
            network.wake(now + self.params.every, 0);
        }
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.ask(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        match happening {
            Happening::Woke { .. } => self.ask(now, network),
            Happening::Done { .. } => {
                if let Some(asked) = self.open.pop_front() {
                    self.times.push(now, now.since(asked));
                }
            }
            _ => {}
        }
    }

    fn metrics(&self, from: Time, _now: Time) -> Vec<Metric> {
        let mut metrics = self.times.metrics("fetch", from);
        metrics.push(Metric::new("unfinished", self.open.len() as f64));
        metrics
    }

    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        self.times.each("fetch", tell);
    }
}
