//! Web objects that arrive as a Poisson process, each over a connection of its own (IMC'12 Fig. 10: 8 to 64 KB beside a
//! bulk transfer).

use super::bulk::REQUEST;
use crate::fetch::Fetches;
use crate::metrics::{Metric, Spans};
use crate::workload::{Conn, Happening, Network, Workload};
use serde::Deserialize;
use unbloat_params::defaults;
use unbloat_units::{Bytes, Delta, Time};

/// A fraction `p` of all objects is at most as large as `size`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeQuantile {
    pub p: f64,
    pub size: Bytes,
}

defaults! {
    #[derive(Clone, Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Params {
        /// Drawn with equal probability.
        pub sizes: Vec<Bytes> = [8, 16, 32, 64].map(Bytes::kib).to_vec();
        /// In place of `sizes`, if there are any: points of their distribution, from probability 0 to 1.
        pub size_quantiles: Vec<SizeQuantile> = Vec::new();
        /// Mean time between requests.
        pub every: Delta = Delta::secs(1);
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

    fn draw(&self, network: &mut dyn Network) -> Option<Bytes> {
        let Params {
            sizes,
            size_quantiles,
            ..
        } = &self.params;
        if !size_quantiles.is_empty() {
            return Some(between(size_quantiles, network.rng().f64()));
        }
        (!sizes.is_empty()).then(|| sizes[network.rng().usize(..sizes.len())])
    }

    fn fetch(&mut self, now: Time, network: &mut dyn Network) {
        let Some(size) = self.draw(network) else {
            return;
        };
        let conn = Conn(self.asked.len() as u32);
        self.asked.push(now);
        self.fetches.asked(now, conn, REQUEST);
        network.exchange(conn, REQUEST, size);
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

/// The size at a probability: between two points its logarithm is linear, as heavy tails are straight on logarithmic axes.
fn between(quantiles: &[SizeQuantile], p: f64) -> Bytes {
    let above = quantiles.partition_point(|one| one.p <= p);
    let last = quantiles.len() - 1;
    let [low, high] = [above.saturating_sub(1), above.min(last)].map(|place| quantiles[place]);
    let [from, to] = [low, high].map(|one| (one.size.as_u64().max(1) as f64).ln());
    let width = high.p - low.p;
    let share = if width > 0.0 {
        (p - low.p) / width
    } else {
        0.0
    };
    Bytes::new((from + (to - from) * share).exp().round() as u64)
}

/// A draw from the exponential distribution of that mean.
pub(super) fn exponential(mean: Delta, network: &mut dyn Network) -> Delta {
    // 1 - u lies in (0, 1]: the logarithm is finite.
    let u = network.rng().f64();
    Delta::from_secs_f64(-mean.as_secs() * (1.0 - u).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Downlink flows of the LTE study (SIGCOMM 2013, section 4.1), with ends of our choice.
    #[test]
    fn drawn_sizes_have_the_quantiles_that_they_are_drawn_from() {
        let points = [
            (0.0, 100),
            (0.9, 35_900),
            (0.95, 85_900),
            (0.994, 1_000_000),
            (1.0, 50_000_000),
        ];
        let quantiles = points.map(|(p, bytes)| SizeQuantile {
            p,
            size: Bytes::new(bytes),
        });
        for (p, bytes) in &points[..4] {
            assert_eq!(between(&quantiles, *p), Bytes::new(*bytes));
        }
        // Half way in probability is the geometric mean.
        assert_eq!(between(&quantiles, 0.45).as_u64(), 1_895);
        let mut rng = fastrand::Rng::with_seed(1);
        let sizes: Vec<_> = (0..100_000)
            .map(|_| between(&quantiles, rng.f64()))
            .collect();
        for (p, bytes) in &points[1..4] {
            let below = sizes.iter().filter(|size| size.as_u64() <= *bytes).count();
            assert!((below as f64 / 100_000.0 - p).abs() < 0.004, "{p}");
        }
    }
}
