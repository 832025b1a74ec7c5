//! Datagrams as an interrupted Poisson process (CellNet'12 section 3): on and off times are exponential, while on the
//! datagrams come as a Poisson process. Without off times it is a plain Poisson process.

use super::web::exponential;
use crate::metrics::{Metric, Spans};
use crate::workload::{Happening, Network, Workload};
use serde::Deserialize;
use unbloat_params::defaults;
use unbloat_units::{Bytes, Delta, Direction, Rate, Time};

/// How long a datagram is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    #[default]
    Fixed,
    /// Exponential, rounded to whole bytes and at least one: on a constant rate the exponential service times of M/M/1.
    Exponential,
}

defaults! {
    #[derive(Clone, Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Params {
        pub direction: Direction = Direction::Down;
        /// Mean rate while on, in IP bytes.
        pub rate: Rate = Rate::mbps(1);
        /// Mean length of a datagram.
        pub size: Bytes = Bytes::new(1_000);
        pub sizes: Sizes = Sizes::Fixed;
        /// Mean time on; no value: always on.
        pub on: Option<Delta> = None;
        /// Mean time off.
        pub off: Delta = Delta::ZERO;
    }
}

#[derive(Debug)]
pub struct State {
    params: Params,
    sent: u64,
    arrived: u64,
    on_until: Time,
    delays: Spans,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            sent: 0,
            arrived: 0,
            on_until: Time::MAX,
            delays: Spans::default(),
        }
    }

    /// Next arrival; one that falls behind the end of the on time is not sent, and memorylessness lets the next one be
    /// drawn afresh from the beginning of the next on time.
    fn wait(&mut self, mut now: Time, network: &mut dyn Network) {
        if self.params.rate == Rate::ZERO || self.params.size == Bytes::ZERO {
            return;
        }
        let mean = self.params.size / self.params.rate;
        loop {
            let next = now + exponential(mean, network);
            if next < self.on_until {
                return network.wake(next, 0);
            }
            now = self.on_until + exponential(self.params.off, network);
            self.turn_on(now, network);
        }
    }

    fn turn_on(&mut self, now: Time, network: &mut dyn Network) {
        // An on time of nothing would never let a datagram through.
        let on = self.params.on.filter(|on| *on > Delta::ZERO);
        self.on_until = on.map_or(Time::MAX, |mean| now + exponential(mean, network));
    }

    fn size(&self, network: &mut dyn Network) -> Bytes {
        match self.params.sizes {
            Sizes::Fixed => self.params.size,
            Sizes::Exponential => {
                let mean = self.params.size.as_u64() as f64;
                let drawn = -mean * (1.0 - network.rng().f64()).ln();
                Bytes::new((drawn.round() as u64).max(1))
            }
        }
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.turn_on(now, network);
        self.wait(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        match happening {
            Happening::Woke { .. } => {
                let size = self.size(network);
                network.datagram(self.params.direction, self.sent, size);
                self.sent += 1;
                self.wait(now, network);
            }
            Happening::Arrived { delay, .. } => {
                self.arrived += 1;
                self.delays.push(now, delay);
            }
            _ => {}
        }
    }

    fn metrics(&self, from: Time, _now: Time) -> Vec<Metric> {
        let mut metrics = self.delays.metrics("delay", from);
        metrics.push(Metric::new("sent", self.sent as f64));
        metrics.push(Metric::new("arrived", self.arrived as f64));
        metrics
    }

    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        self.delays.each("delay", tell);
    }
}
