//! A transfer without end: what fills buffers.

use crate::meter::Meter;
use crate::metrics::Metric;
use crate::workload::{Conn, Happening, Network, Workload};
use serde::Deserialize;
use unbloat_units::{Bytes, Direction, Time};

/// More than any run transfers.
pub(super) const ENDLESS: Bytes = Bytes::new(1 << 60);
/// What a client sends to ask for something.
pub(super) const REQUEST: Bytes = Bytes::new(300);

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    pub direction: Direction,
}

#[derive(Debug)]
pub struct State {
    params: Params,
    counts_from: Time,
    meter: Meter,
}

impl State {
    pub fn new(params: Params) -> State {
        let begin = Time::from_ns(0);
        State {
            params,
            counts_from: begin,
            meter: Meter::new(begin, begin),
        }
    }
}

impl Workload for State {
    fn count_from(&mut self, from: Time) {
        self.counts_from = from;
        self.meter = Meter::new(Time::from_ns(0), from);
    }

    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.meter = Meter::new(now, self.counts_from);
        match self.params.direction {
            Direction::Down => network.exchange(Conn(0), REQUEST, ENDLESS),
            Direction::Up => network.exchange(Conn(0), ENDLESS, Bytes::ZERO),
        }
    }

    fn on_happening(&mut self, now: Time, happening: Happening, _network: &mut dyn Network) {
        if let Happening::Read {
            direction, bytes, ..
        } = happening
            && direction == self.params.direction
        {
            self.meter.count(now, bytes);
        }
    }

    fn metrics(&self, _from: Time, now: Time) -> Vec<Metric> {
        self.meter.goodput(now).into_iter().collect()
    }
}
