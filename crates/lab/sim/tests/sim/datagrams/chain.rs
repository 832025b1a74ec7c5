//! A bottleneck as a chain: what the models say and what runs of the simulator come to.

use super::{Load, experiment, line};
use unbloat_experiment::outcome::{Outcomes, is_conserved};
use unbloat_link::Place;
use unbloat_queueing::{Capacity, Ipp, IppM1k, Md1k, Mm1k, Model};
use unbloat_sim::run;
use unbloat_units::Delta;
use unbloat_workload::kind::onoff::Sizes;

/// Runs with seeds of their own, whose spread is the standard error of their mean.
const RUNS: u64 = 16;

/// A load on a link that holds so many packets.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    pub load: Load,
    pub places: u32,
}

/// A mean and its standard error.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub mean: f64,
    pub error: f64,
}

/// What packets met, in mean times of transmission.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Of packets that were let in, transmission included.
    pub delay: Estimate,
    pub loss: Estimate,
}

impl Chain {
    pub fn model(&self) -> Box<dyn Model> {
        let rho = unbloat_queueing::Load::new(self.load.rho).expect("a load");
        let places = Capacity::new(self.places.into()).expect("some places");
        match (self.load.sizes, self.load.bursts) {
            (Sizes::Exponential, None) => Box::new(Mm1k::new(rho, places)),
            (Sizes::Exponential, Some((on, off))) => {
                let source = Ipp::new(rho, on, off).expect("a source");
                Box::new(IppM1k::new(source, places))
            }
            (Sizes::Fixed, None) => Box::new(Md1k::new(rho, places)),
            (Sizes::Fixed, Some(_)) => unreachable!("no model of bursts of equal packets"),
        }
    }

    /// How long the chain remembers, in times of transmission: one over the spectral gap of M/M/1/K, longer for bursts.
    fn memory(&self) -> f64 {
        let root = self.load.rho.sqrt();
        let edge = std::f64::consts::PI / (f64::from(self.places) + 1.0);
        let drift = 1.0 - root;
        let poisson = 1.0 / (drift * drift + 2.0 * root * (1.0 - edge.cos()));
        let burst = self
            .load
            .bursts
            .map_or(0.0, |(on, off)| on * off / (on + off));
        poisson * (1.0 + burst)
    }

    /// So many packets that the standard error of the mean delay, and of a loss of so much or more, is about that share of it.
    /// The variance of the mean delay over time T is at most twice the memory over T, times the square of the mean
    /// (exact for M/M/1 near load 1); losses are a Poisson process of clusters as long as the memory.
    pub fn packets_for(&self, error: f64, loss: f64) -> u64 {
        let delay = 2.0 * self.memory();
        let losses = (1.0 + self.memory() / 2.0) / loss;
        (delay.max(losses) / (error * error)) as u64
    }

    pub fn simulate(&self, packets: u64) -> Found {
        let services = packets as f64 / self.load.rho / RUNS as f64;
        let warmup = 10.0 * self.memory();
        let runs: Vec<_> = (1..=RUNS)
            .map(|seed| {
                let mut plan = experiment(self.load, line(self.places), seed);
                plan.warmup = Delta::from_secs_f64(warmup / 1e3);
                plan.duration = plan.warmup + Delta::from_secs_f64(services / 1e3);
                let outcomes = run(&plan);
                assert!(is_conserved(&outcomes));
                delay_and_loss(&outcomes)
            })
            .collect();
        Found {
            delay: Estimate::of(runs.iter().map(|run| run.0)),
            loss: Estimate::of(runs.iter().map(|run| run.1)),
        }
    }
}

impl Estimate {
    fn of(runs: impl Iterator<Item = f64> + Clone) -> Estimate {
        let count = RUNS as f64;
        let mean = runs.clone().sum::<f64>() / count;
        let squares: f64 = runs.map(|x| (x - mean) * (x - mean)).sum();
        Estimate {
            mean,
            error: (squares / (count - 1.0) / count).sqrt(),
        }
    }
}

/// A millisecond is the mean time of transmission.
fn delay_and_loss(outcomes: &Outcomes) -> (f64, f64) {
    let path = &outcomes.paths.down;
    let waits = path.waits(Place::Queue).expect("packets pass");
    let (passed, lost) = (
        waits.ms.count() as f64,
        path.drops.iter().sum::<u64>() as f64,
    );
    (
        waits.mean_ms().expect("packets pass") + 1.0,
        lost / (passed + lost),
    )
}
