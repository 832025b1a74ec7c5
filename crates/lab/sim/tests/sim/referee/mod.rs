//! The kernel's answers and ours to the scenarios of the referee.

mod translate;
pub mod verdict;

use crate::support::metric;
use std::collections::BTreeMap;
use unbloat_experiment::outcome::{Outcomes, WindowSample};
use unbloat_link::Place;
use unbloat_sim::run;
use unbloat_uml::{Scenario, Summary, matrix};

const MSS: f64 = 1_448.0;

/// What one side says of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub goodput_mbps: f64,
    pub delay_mean_ms: f64,
    pub delay_p50_ms: f64,
    pub delay_p95_ms: f64,
    pub delay_p99_ms: f64,
    pub dropped: f64,
    pub marked: f64,
    /// Segments, at each second, of all flows together.
    pub cwnd: Vec<f64>,
    /// At each second, mean of the flows.
    pub srtt_ms: Vec<f64>,
}

/// A scenario that both sides know.
pub struct Case {
    pub name: String,
    pub kernels: Answer,
    pub ours: Answer,
}

/// Cases in the order of the matrix, and the names of those that we cannot do.
pub fn cases() -> (Vec<Case>, Vec<String>) {
    let (mut cases, mut missing) = (Vec::new(), Vec::new());
    let mut draws: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    let mut firsts = Vec::new();
    for (name, scenario) in matrix() {
        let base = name.split("-seed-").next().unwrap_or(&name);
        draws
            .entry(base.to_owned())
            .or_default()
            .push(kernels(&name));
        if base == name {
            firsts.push((name, scenario));
        }
    }
    for (name, scenario) in firsts {
        let kernels = &draws[&name];
        // Where the discipline draws lots, as often as the kernel has drawn.
        match ours(&scenario, kernels.len() as u64) {
            Some(ours) => cases.push(Case {
                kernels: typical(kernels),
                ours: typical(&ours),
                name,
            }),
            None => missing.push(name),
        }
    }
    (cases, missing)
}

/// What the kernel said of the scenario of that name.
pub fn kernels(name: &str) -> Answer {
    of_kernel(&Summary::committed(name).expect("all are committed"))
}

fn ours(scenario: &Scenario, repeats: u64) -> Option<Vec<Answer>> {
    let answers = (0..repeats).map(|more| {
        let seed = scenario.seed + more;
        let scenario = Scenario {
            seed,
            ..scenario.clone()
        };
        Some(of_sim(&run(&translate::experiment(&scenario)?), &scenario))
    });
    answers.collect()
}

fn of_kernel(summary: &Summary) -> Answer {
    let delay = &summary.queue.delay;
    let flows = || summary.flows.iter();
    let cwnds = flows().map(|flow| flow.cwnd.iter().copied().map(f64::from).collect());
    let srtts = flows().map(|flow| flow.srtt_us.iter().map(|&us| f64::from(us) / 1e3).collect());
    Answer {
        goodput_mbps: summary.goodput_bps() / 1e6,
        delay_mean_ms: delay.mean_ms,
        delay_p50_ms: delay.p50_ms,
        delay_p95_ms: delay.p95_ms,
        delay_p99_ms: delay.p99_ms,
        dropped: summary.queue.dropped as f64,
        marked: summary.queue.marked as f64,
        cwnd: sum(cwnds),
        srtt_ms: mean(srtts),
    }
}

fn of_sim(outcomes: &Outcomes, scenario: &Scenario) -> Answer {
    let up = &outcomes.paths.up;
    let waits = up.waits(Place::Queue).expect("packets wait");
    let [p50, p95, p99] = waits.ms.quantiles([0.5, 0.95, 0.99]).expect("packets wait");
    let series = |of: fn(&WindowSample) -> f64| {
        (0..scenario.flows.len()).map(move |flow| {
            let own = outcomes
                .windows
                .iter()
                .filter(move |sample| sample.flow as usize == flow);
            own.map(of).collect()
        })
    };
    Answer {
        goodput_mbps: goodput_bps(outcomes, scenario) / 1e6,
        delay_mean_ms: waits.mean_ms().expect("packets wait"),
        delay_p50_ms: p50,
        delay_p95_ms: p95,
        delay_p99_ms: p99,
        dropped: up.drops.iter().sum::<u64>() as f64,
        marked: up.marks.iter().sum::<u64>() as f64,
        cwnd: sum(series(|sample| sample.cwnd_bytes.as_u64() as f64 / MSS)),
        srtt_ms: mean(series(|sample| sample.srtt.as_ms())),
    }
}

/// Of all flows, each over its own time.
fn goodput_bps(outcomes: &Outcomes, scenario: &Scenario) -> f64 {
    let flows = 0..scenario.flows.len();
    flows
        .map(|flow| metric(outcomes, flow, "goodput_bps"))
        .sum()
}

/// The median of each number, since one draw in a hundred is far off; the mean of the curves.
fn typical(answers: &[Answer]) -> Answer {
    let median = |of: fn(&Answer) -> f64| {
        let mut values: Vec<f64> = answers.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let half = values.len() / 2;
        (values[half] + values[(values.len() - 1) / 2]) / 2.0
    };
    Answer {
        goodput_mbps: median(|answer| answer.goodput_mbps),
        delay_mean_ms: median(|answer| answer.delay_mean_ms),
        delay_p50_ms: median(|answer| answer.delay_p50_ms),
        delay_p95_ms: median(|answer| answer.delay_p95_ms),
        delay_p99_ms: median(|answer| answer.delay_p99_ms),
        dropped: median(|answer| answer.dropped),
        marked: median(|answer| answer.marked),
        cwnd: mean(answers.iter().map(|answer| answer.cwnd.clone())),
        srtt_ms: mean(answers.iter().map(|answer| answer.srtt_ms.clone())),
    }
}

/// Place by place.
fn sum(series: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
    let add = |sum: Vec<f64>, one: Vec<f64>| {
        assert_eq!(sum.len(), one.len(), "a sample a second on both sides");
        sum.iter().zip(&one).map(|(a, b)| a + b).collect()
    };
    series.reduce(add).unwrap_or_default()
}

fn mean(series: impl ExactSizeIterator<Item = Vec<f64>>) -> Vec<f64> {
    let count = series.len() as f64;
    sum(series).iter().map(|value| value / count).collect()
}
