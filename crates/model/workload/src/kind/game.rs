//! A fast game: the client sends its input, the server the state of the world, both at a fixed tick.
//!
//! What players feel is the lag from input to seen effect: up and down and half a tick of each on average. A tick is late
//! when it came more than `late` after it was sent.

use crate::metrics::{Metric, Spans};
use crate::workload::{Happening, Network, Workload};
use serde::Deserialize;
use unbloat_params::defaults;
use unbloat_units::{Both, Bytes, Delta, Direction, Time};

defaults! {
    /// 64 ticks a second, 100 ms as the limit beyond which shooters suffer: our choice.
    #[derive(Clone, Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Params {
        pub tick: Delta = Delta::us(15_625);
        pub size_up: Bytes = Bytes::new(100);
        pub size_down: Bytes = Bytes::new(400);
        pub late: Delta = Delta::ms(100);
    }
}

#[derive(Debug)]
pub struct State {
    params: Params,
    sent: u64,
    delays: Both<Spans>,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            sent: 0,
            delays: Default::default(),
        }
    }

    fn tick(&mut self, now: Time, network: &mut dyn Network) {
        network.datagram(Direction::Up, self.sent, self.params.size_up);
        network.datagram(Direction::Down, self.sent, self.params.size_down);
        self.sent += 1;
        if self.params.tick > Delta::ZERO {
            network.wake(now + self.params.tick, 0);
        }
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.tick(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        match happening {
            Happening::Woke { .. } => self.tick(now, network),
            Happening::Arrived {
                direction, delay, ..
            } => self.delays[direction].push(now, delay),
            _ => {}
        }
    }

    fn metrics(&self, from: Time, _now: Time) -> Vec<Metric> {
        Direction::BOTH
            .into_iter()
            .flat_map(|direction| {
                let delays = &self.delays[direction];
                let spans = delays.since(from);
                let late = spans
                    .iter()
                    .filter(|delay| **delay > self.params.late)
                    .count();
                let share = (!spans.is_empty()).then(|| late as f64 / spans.len() as f64);
                let late_share = share
                    .map(|share| Metric::new(format!("late_share_{}", direction.name()), share));
                delays
                    .metrics(&format!("lag_{}", direction.name()), from)
                    .into_iter()
                    .chain(late_share)
            })
            .collect()
    }

    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        self.delays.down.each("lag_down", tell);
        self.delays.up.each("lag_up", tell);
    }
}
