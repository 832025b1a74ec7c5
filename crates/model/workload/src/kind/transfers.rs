//! Files one after the other, each over a connection of its own.

use super::bulk::REQUEST;
use super::web::exponential;
use crate::metrics::{Metric, Spans};
use crate::workload::{Conn, Happening, Network, Workload};
use serde::Deserialize;
use unbloat_params::defaults;
use unbloat_units::{Bytes, Delta, Direction, Time};

defaults! {
    #[derive(Clone, Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Params {
        pub direction: Direction = Direction::Down;
        pub size: Bytes = Bytes::new(1_000_000);
        /// Mean of the exponential time from the end of one to the start of the next.
        pub pause: Delta = Delta::ms(300);
    }
}

#[derive(Debug)]
pub struct State {
    params: Params,
    /// When each transfer began, by connection.
    begun: Vec<Time>,
    done: usize,
    times: Spans,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            begun: Vec::new(),
            done: 0,
            times: Spans::default(),
        }
    }

    fn begin(&mut self, now: Time, network: &mut dyn Network) {
        let conn = Conn(self.begun.len() as u32);
        self.begun.push(now);
        match self.params.direction {
            Direction::Down => network.exchange(conn, REQUEST, self.params.size),
            Direction::Up => network.exchange(conn, self.params.size, Bytes::ZERO),
        }
        network.close(conn);
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.begin(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        match happening {
            Happening::Woke { .. } => self.begin(now, network),
            Happening::Done { conn } => {
                self.done += 1;
                self.times.push(now, now.since(self.begun[conn.0 as usize]));
                let pause = exponential(self.params.pause, network);
                network.wake(now + pause, 0);
            }
            _ => {}
        }
    }

    fn metrics(&self, from: Time, _now: Time) -> Vec<Metric> {
        let mut metrics = self.times.metrics("completion", from);
        let unfinished = self.begun.len() - self.done;
        metrics.push(Metric::new("unfinished", unfinished as f64));
        metrics
    }

    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        self.times.each("completion", tell);
    }
}
