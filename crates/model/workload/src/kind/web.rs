//! Web objects that arrive as a Poisson process, each over a connection of its own (IMC'12 Fig. 10: 8 to 64 KB beside a
//! bulk transfer).

use super::bulk::REQUEST;
use crate::fetch::Fetches;
use crate::metrics::{Metric, Spans};
use crate::workload::{Conn, Happening, Network, Workload};
use serde::Deserialize;
use unbloat_units::{Bytes, Delta, Time};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Drawn with equal probability.
    pub sizes: Vec<Bytes>,
    /// Mean time between requests.
    pub every: Delta,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            sizes: [8, 16, 32, 64].map(Bytes::kib).to_vec(),
            every: Delta::secs(1),
        }
    }
}

#[derive(Debug)]
pub struct State {
    params: Params,
    /// When each object was asked for, by connection.
    asked: Vec<Time>,
    done: usize,
    times: Spans,
    fetches: Fetches,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            asked: Vec::new(),
            done: 0,
            times: Spans::default(),
            fetches: Fetches::default(),
        }
    }

    fn wait(&self, now: Time, network: &mut dyn Network) {
        let gap = exponential(self.params.every, network);
        network.wake(now + gap, 0);
    }

    fn fetch(&mut self, now: Time, network: &mut dyn Network) {
        let sizes = &self.params.sizes;
        let Some(drawn) = (!sizes.is_empty()).then(|| network.rng().usize(..sizes.len())) else {
            return;
        };
        let conn = Conn(self.asked.len() as u32);
        self.asked.push(now);
        self.fetches.asked(now, conn, REQUEST);
        network.exchange(conn, REQUEST, self.params.sizes[drawn]);
        network.close(conn);
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.wait(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        self.fetches.on_happening(now, &happening);
        match happening {
            Happening::Woke { .. } => {
                self.fetch(now, network);
                self.wait(now, network);
            }
            Happening::Done { conn } => {
                self.done += 1;
                self.times.push(now, now.since(self.asked[conn.0 as usize]));
            }
            _ => {}
        }
    }

    fn metrics(&self, from: Time, _now: Time) -> Vec<Metric> {
        let mut metrics = self.times.metrics("load_time", from);
        metrics.extend(self.fetches.metrics(from));
        metrics.push(Metric::new(
            "unfinished",
            (self.asked.len() - self.done) as f64,
        ));
        metrics
    }

    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        self.times.each("load", tell);
        self.fetches.each_time(tell);
    }
}

/// A draw from the exponential distribution of that mean.
pub(super) fn exponential(mean: Delta, network: &mut dyn Network) -> Delta {
    // 1 - u lies in (0, 1]: the logarithm is finite.
    let u = network.rng().f64();
    Delta::from_secs_f64(-mean.as_secs() * (1.0 - u).ln())
}
