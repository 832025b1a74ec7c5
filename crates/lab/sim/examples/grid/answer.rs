//! What either side answers, and whether their answers differ.

use crate::cell::Cell;
use crate::support::metric;
use unbloat_experiment::outcome::Outcomes;
use unbloat_link::Place;
use unbloat_uml::{Outcome, Scenario};

/// One run of one side.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer {
    pub goodput_mbps: f64,
    pub delay_mean_ms: f64,
    pub delay_p95_ms: f64,
    /// Packets that the queue dropped or marked.
    pub signals: f64,
    pub timeouts: f64,
}

impl Answer {
    pub fn of_kernel(outcome: &Outcome) -> Answer {
        let flows = || outcome.flows.iter();
        let bytes: u64 = flows().map(|flow| flow.bytes).sum();
        let timeouts: u64 = flows().map(|flow| u64::from(flow.timeouts)).sum();
        Answer {
            goodput_mbps: mbps(bytes, &outcome.scenario),
            delay_mean_ms: outcome.queue.delay.mean_ms,
            delay_p95_ms: outcome.queue.delay.p95_ms,
            signals: (outcome.queue.dropped + outcome.queue.marked) as f64,
            timeouts: timeouts as f64,
        }
    }

    pub fn of_sim(outcomes: &Outcomes, scenario: &Scenario) -> Answer {
        let up = &outcomes.paths.up;
        let waits = up.waits(Place::Queue).expect("packets wait");
        let signals: u64 = up.drops.iter().chain(&up.marks).sum();
        // Ours is of each flow's own time, the kernel's of the run's.
        let length_ns = scenario.length_ns as f64;
        let goodputs = scenario.flows.iter().enumerate().map(|(number, flow)| {
            let own_ns = length_ns - flow.start_ns as f64;
            metric(outcomes, number, "goodput_bps") * own_ns / length_ns
        });
        let timeouts: u64 = outcomes.flows.iter().map(|f| f.record.timeouts).sum();
        Answer {
            goodput_mbps: goodputs.sum::<f64>() / 1e6,
            delay_mean_ms: waits.mean_ms().expect("packets wait"),
            delay_p95_ms: waits.ms.quantile(0.95).expect("packets wait"),
            signals: signals as f64,
            timeouts: timeouts as f64,
        }
    }
}

fn mbps(bytes: u64, scenario: &Scenario) -> f64 {
    bytes as f64 * 8e3 / scenario.length_ns as f64
}

/// Mean of several runs and how sure it is.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub value: f64,
    /// Standard error.
    pub error: f64,
}

impl Mean {
    fn of(values: &[f64]) -> Mean {
        let count = values.len() as f64;
        let value = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|one| (one - value).powi(2)).sum();
        Mean {
            value,
            error: (squares / (count - 1.0).max(1.0) / count).sqrt(),
        }
    }
}

/// One quantity of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    pub kernels: Mean,
    pub ours: Mean,
    pub is_hit: bool,
}

/// What may differ besides the spread of both sides: so much relative to the kernel's, or absolute.
struct Bound {
    relative: f64,
    absolute: f64,
}

/// Standard errors of the difference that are put down to chance.
const ERRORS: f64 = 2.0;

pub const QUANTITIES: [&str; 5] = [
    "goodput, Mbit/s",
    "mean delay, ms",
    "p95, ms",
    "drops + marks",
    "timeouts",
];

/// In the order of [`QUANTITIES`].
pub fn verdicts(cell: &Cell, kernels: &[Answer], ours: &[Answer]) -> [Verdict; 5] {
    let bound = |relative, absolute| Bound { relative, absolute };
    let judge = |allowed: Bound, of: fn(&Answer) -> f64| {
        let [kernels, ours] =
            [kernels, ours].map(|side| Mean::of(&side.iter().map(of).collect::<Vec<_>>()));
        let chance = ERRORS * kernels.error.hypot(ours.error);
        let most = (allowed.relative * kernels.value).max(allowed.absolute) + chance;
        Verdict {
            kernels,
            ours,
            is_hit: (ours.value - kernels.value).abs() <= most + 1e-3,
        }
    };
    let packet_ms = cell.packet_ms();
    let unread_mbps = cell.unread_mbps();
    [
        judge(bound(0.02, unread_mbps), |answer| answer.goodput_mbps),
        judge(bound(0.05, packet_ms / 4.0), |answer| answer.delay_mean_ms),
        judge(bound(0.05, packet_ms), |answer| answer.delay_p95_ms),
        judge(bound(0.1, 3.0), |answer| answer.signals),
        judge(bound(0.1, 3.0), |answer| answer.timeouts),
    ]
}
