//! Probes that reach one router of the path after the other: which hop adds the delay.
//!
//! A probe whose time to live is n passes n hops of the uplink. The router behind them, or the server behind the last, answers with an
//! ICMP message, which returns through the hops between it and the client. All probes are of one flow, so a queue that tells flows
//! apart treats them alike.

use crate::answers::Answers;
use crate::metrics::Metric;
use crate::workload::{Happening, Network, Workload};
use serde::Deserialize;
use unbloat_units::{Bytes, Delta, Time};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// From one probe to the next, which goes one hop further; after the last hop the first follows.
    pub every: Delta,
    /// IP length, as `traceroute` without options sends it.
    pub size: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            every: Delta::ms(100),
            size: Bytes::new(60),
        }
    }
}

/// IP length of time exceeded and of port unreachable: two IP headers, one of ICMP, and 8 bytes of the probe (RFC 792).
const ANSWER: Bytes = Bytes::new(56);

#[derive(Debug)]
pub struct State {
    params: Params,
    sent: u64,
    /// By hop.
    answers: Vec<Answers>,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            sent: 0,
            answers: Vec::new(),
        }
    }

    fn send(&mut self, now: Time, network: &mut dyn Network) {
        let hops = self.answers.len() as u64;
        if hops == 0 {
            return;
        }
        let hop = (self.sent % hops) as u32;
        network.probe(hop + 1, self.sent, self.params.size, ANSWER);
        self.answers[hop as usize].sent(now);
        self.sent += 1;
        if self.params.every > Delta::ZERO {
            network.wake(now + self.params.every, 0);
        }
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        let hops = network.hops() as usize;
        self.answers = vec![Answers::default(); hops];
        self.send(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        match happening {
            Happening::Woke { .. } => self.send(now, network),
            Happening::Answered { number } => {
                let hops = self.answers.len() as u64;
                self.answers[(number % hops) as usize].answered(now, number / hops);
            }
            _ => {}
        }
    }

    fn metrics(&self, from: Time, now: Time) -> Vec<Metric> {
        let hops = self.answers.iter().zip(1..);
        let each = hops.flat_map(|(answers, hop)| {
            let least = answers.times.since(from).into_iter().min();
            let least = least.map(|rtt| Metric::new(format!("hop{hop}_rtt_min_ms"), rtt.as_ms()));
            let others = answers.metrics(&format!("hop{hop}_"), from, now);
            least.into_iter().chain(others)
        });
        each.collect()
    }
}
