//! A call: a packet every 20 ms in both directions, rated by the E-model.
//!
//! The receiver plays each packet a fixed `playout` after the smallest delay seen in the call; what comes later is lost to
//! it. Mouth to ear adds one packet time at the speaker. (Real receivers adapt their buffer; a fixed one keeps the score
//! comparable.)

use crate::emodel::{Impairments, mos, r_factor};
use crate::metrics::Metric;
use crate::workload::{Happening, Network, Workload};
use serde::Deserialize;
use unbloat_params::defaults;
use unbloat_units::{Both, Bytes, Delta, Direction, Time};

defaults! {
    #[derive(Clone, Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Params {
        pub every: Delta = Delta::ms(20);
        /// IP length: G.711 with 160 bytes of speech under RTP and UDP.
        pub size: Bytes = Bytes::new(200);
        pub playout: Delta = Delta::ms(60);
    }
}

#[derive(Debug)]
pub struct State {
    params: Params,
    sent: Vec<Time>,
    /// Delay of each packet by its number; no value when it has not come.
    delays: Both<Vec<Option<Delta>>>,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            sent: Vec::new(),
            delays: Default::default(),
        }
    }

    fn speak(&mut self, now: Time, network: &mut dyn Network) {
        let number = self.sent.len() as u64;
        for direction in Direction::BOTH {
            network.datagram(direction, number, self.params.size);
            self.delays[direction].push(None);
        }
        self.sent.push(now);
        if self.params.every > Delta::ZERO {
            network.wake(now + self.params.every, 0);
        }
    }

    /// What the listener of one direction suffered. Packets that could still be in time at `now` are left out.
    fn impairments(&self, direction: Direction, from: Time, now: Time) -> Option<Impairments> {
        let delays = &self.delays[direction];
        let floor = delays.iter().flatten().min()?;
        let deadline = *floor + self.params.playout;
        let judged: Vec<_> = self
            .sent
            .iter()
            .zip(delays)
            .filter(|(sent, _)| **sent >= from && **sent + deadline < now)
            .collect();
        if judged.is_empty() {
            return None;
        }
        let lost = judged
            .iter()
            .filter(|(_, delay)| delay.is_none_or(|delay| delay > deadline))
            .count();
        Some(Impairments {
            delay: deadline + self.params.every,
            loss: lost as f64 / judged.len() as f64,
        })
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.speak(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        match happening {
            Happening::Woke { .. } => self.speak(now, network),
            Happening::Arrived {
                direction,
                number,
                delay,
            } => {
                self.delays[direction][number as usize] = Some(delay);
            }
            _ => {}
        }
    }

    /// `mos_down`, `mos_up`, the worse of them as `mos`, and the share of packets that were lost or too late.
    fn metrics(&self, from: Time, now: Time) -> Vec<Metric> {
        let mut metrics = Vec::new();
        let mut worst = f64::INFINITY;
        for direction in Direction::BOTH {
            let Some(impairments) = self.impairments(direction, from, now) else {
                continue;
            };
            let score = mos(r_factor(impairments));
            worst = worst.min(score);
            metrics.push(Metric::new(format!("mos_{}", direction.name()), score));
            metrics.push(Metric::new(
                format!("lost_share_{}", direction.name()),
                impairments.loss,
            ));
        }
        if worst.is_finite() {
            metrics.push(Metric::new("mos", worst));
        }
        metrics
    }
}
