//! Connections of a phone: a few requests each, sizes with a heavy tail, pauses, late ends and sudden ones.
//!
//! # References
//! J. Huang et al., SIGCOMM 2013, section 4.1 and Figure 2: nine tenths of flows are 36 kB or less, the tail of the others is
//! Pareto's; a quarter of flows end long after their last byte.

use super::bulk::REQUEST;
use super::web::exponential;
use crate::metrics::{Metric, Spans};
use crate::workload::{Conn, Happening, Network, Workload};
use fastrand::Rng;
use serde::Deserialize;
use unbloat_params::defaults;
use unbloat_units::{Bytes, Delta, Time};

/// Mean time that the user looks at an answer.
const LOOK: Delta = Delta::ms(500);
/// Share of requests that bring something, and what they bring.
const POSTS: f64 = 0.09;
const POSTED: [u64; 3] = [2_000, 20_000, 150_000];
/// Large answers.
const BIG: std::ops::Range<u64> = 1_000_000..15_000_000;
/// How much later than their last byte late connections end, from and to.
const LATE: [f64; 2] = [3.0, 15.0];

defaults! {
    #[derive(Clone, Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Params {
        /// Mean of the exponential pause before the next connection.
        pub pause: Delta = Delta::ms(250);
        /// Share of connections beside which the next one begins.
        pub beside: f64 = 0.28;
        /// Share of answers from 1 to 15 MB.
        pub big: f64 = 0.015;
        /// Share of pauses that are longer, uniform between two times.
        pub silent: f64 = 0.0;
        pub silence_min: Delta = Delta::secs(10);
        pub silence_max: Delta = Delta::secs(16);
        /// Share of connections that end 3 to 15 s late.
        pub late: f64 = 0.25;
        /// Share of connections that end by a reset.
        pub reset: f64 = 0.05;
    }
}

/// What a wake-up is for: the next connection, or something with a connection that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wake {
    Open,
    Ask(Conn),
    End(Conn),
}

impl Wake {
    fn tag(self) -> u32 {
        match self {
            Wake::Open => 0,
            Wake::Ask(Conn(conn)) => conn << 2 | 1,
            Wake::End(Conn(conn)) => conn << 2 | 2,
        }
    }

    fn of(tag: u32) -> Wake {
        let conn = Conn(tag >> 2);
        match tag & 3 {
            1 => Wake::Ask(conn),
            2 => Wake::End(conn),
            _ => Wake::Open,
        }
    }
}

#[derive(Debug)]
struct Connection {
    requests_left: u32,
    asked: Time,
    /// The next one begins after it.
    is_alone: bool,
}

#[derive(Debug)]
pub struct State {
    params: Params,
    connections: Vec<Connection>,
    unanswered: usize,
    times: Spans,
}

impl State {
    pub fn new(params: Params) -> State {
        State {
            params,
            connections: Vec::new(),
            unanswered: 0,
            times: Spans::default(),
        }
    }

    fn pause(&self, now: Time, network: &mut dyn Network) {
        let Params {
            silent,
            silence_min,
            silence_max,
            ..
        } = self.params;
        let pause = if network.rng().f64() < silent {
            let span = (silence_max - silence_min).as_secs();
            silence_min + Delta::from_secs_f64(span * network.rng().f64())
        } else {
            exponential(self.params.pause, network)
        };
        network.wake(now + pause, Wake::Open.tag());
    }

    fn open(&mut self, now: Time, network: &mut dyn Network) {
        let conn = Conn(self.connections.len() as u32);
        let rng = network.rng();
        let requests_left = match rng.f64() {
            ..0.7 => 1,
            ..0.9 => 2,
            _ => 5,
        };
        let is_alone = rng.f64() >= self.params.beside;
        self.connections.push(Connection {
            requests_left,
            asked: now,
            is_alone,
        });
        self.ask(now, conn, network);
        if !is_alone {
            self.pause(now, network);
        }
    }

    fn ask(&mut self, now: Time, conn: Conn, network: &mut dyn Network) {
        let rng = network.rng();
        let posted = match rng.f64() < POSTS {
            true => Bytes::new(POSTED[rng.usize(..POSTED.len())]),
            false => Bytes::ZERO,
        };
        let answer = match rng.f64() < self.params.big {
            true => rng.u64(BIG),
            false => small(rng),
        };
        let connection = &mut self.connections[conn.0 as usize];
        connection.requests_left -= 1;
        connection.asked = now;
        self.unanswered += 1;
        network.exchange(conn, REQUEST + posted, Bytes::new(answer));
    }

    fn answered(&mut self, now: Time, conn: Conn, network: &mut dyn Network) {
        let connection = &self.connections[conn.0 as usize];
        self.unanswered -= 1;
        self.times.push(now, now.since(connection.asked));
        let looked = now + exponential(LOOK, network);
        if connection.requests_left > 0 {
            return network.wake(looked, Wake::Ask(conn).tag());
        }
        let rng = network.rng();
        let late = match rng.f64() < self.params.late {
            true => Delta::from_secs_f64(LATE[0] + (LATE[1] - LATE[0]) * rng.f64()),
            false => Delta::ZERO,
        };
        network.wake(looked + late, Wake::End(conn).tag());
    }

    fn end(&mut self, now: Time, conn: Conn, network: &mut dyn Network) {
        match network.rng().f64() < self.params.reset {
            true => network.reset(conn),
            false => network.close(conn),
        }
        if self.connections[conn.0 as usize].is_alone {
            self.pause(now, network);
        }
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        self.pause(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        match happening {
            Happening::Woke { tag } => match Wake::of(tag) {
                Wake::Open => self.open(now, network),
                Wake::Ask(conn) => self.ask(now, conn, network),
                Wake::End(conn) => self.end(now, conn, network),
            },
            Happening::Done { conn } => self.answered(now, conn, network),
            _ => {}
        }
    }

    fn metrics(&self, from: Time, _now: Time) -> Vec<Metric> {
        let mut metrics = self.times.metrics("load_time", from);
        metrics.push(Metric::new("unfinished", self.unanswered as f64));
        metrics
    }

    fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
        self.times.each("load", tell);
    }
}

/// A tenth nothing, then log-normal with a median of 4 kB up to 36 kB, and beyond that a Pareto tail up to 1 MB.
fn small(rng: &mut Rng) -> u64 {
    match rng.f64() {
        ..0.1 => 0,
        ..0.9 => {
            // The sum of twelve uniform draws less six is close to normal.
            let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
            (8.3 + 1.1 * normal).exp().min(35_900.0) as u64
        }
        _ => (35_900.0 * (1.0 - rng.f64()).powf(-0.9)).min(1e6) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_tail_of_the_study() {
        let mut rng = Rng::with_seed(1);
        let sizes: Vec<u64> = (0..10_000).map(|_| small(&mut rng)).collect();
        let large = sizes.iter().filter(|size| **size > 36_000).count();
        // 1,000 with a standard deviation of 30.
        assert!(
            (850..1_050).contains(&large),
            "{large} of 10000 above 36 kB"
        );
        assert!(sizes.iter().all(|size| *size <= 1_000_000));
    }

    #[test]
    fn a_wake_up_knows_what_it_is_for() {
        for wake in [Wake::Open, Wake::Ask(Conn(0)), Wake::End(Conn(70_000))] {
            assert_eq!(Wake::of(wake.tag()), wake);
        }
    }
}
