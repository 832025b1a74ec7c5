//! What the models are held against: dense elimination of the balance equations as they stand, and
//! a loop that plays arrivals and departures.

use crate::{Capacity, Ipp, Load, Model};
use fastrand::Rng;
use std::collections::VecDeque;

pub(crate) fn load(rho: f64) -> Load {
    Load::new(rho).expect("a load")
}

pub(crate) fn capacity(packets: u64) -> Capacity {
    Capacity::new(packets).expect("a capacity")
}

#[track_caller]
pub(crate) fn assert_close(got: f64, want: f64, relative: f64) {
    let off_by = (got - want).abs() / want.abs().max(f64::MIN_POSITIVE);
    assert!(off_by <= relative, "{got} is not {want}: off by {off_by:e}");
}

// ---- balance equations ---------------------------------------------------------------------------

/// Equilibrium of a chain given by its rates from state to state: Gauss with pivots on the balance
/// equations, the last replaced by the sum of all being 1.
fn equilibrium(rates: &[Vec<f64>]) -> Vec<f64> {
    let n = rates.len();
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|to| {
            let mut row: Vec<f64> = (0..n).map(|from| rates[from][to]).collect();
            row[to] -= rates[to].iter().sum::<f64>();
            row.push(0.0);
            row
        })
        .collect();
    rows[n - 1] = vec![1.0; n + 1];
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))
            .expect("rows are left");
        rows.swap(column, pivot);
        let lead = rows[column].clone();
        for row in rows.iter_mut().skip(column + 1) {
            let factor = row[column] / lead[column];
            row.iter_mut()
                .zip(&lead)
                .for_each(|(x, l)| *x -= factor * l);
        }
    }
    let mut solution = vec![0.0; n];
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|c| rows[row][c] * solution[c]).sum();
        solution[row] = (rows[row][n] - known) / rows[row][row];
    }
    solution
}

/// M/M/1/K.
pub(crate) fn birth_death(rho: f64, k: usize) -> Vec<f64> {
    let mut rates = vec![vec![0.0; k + 1]; k + 1];
    for n in 0..k {
        rates[n][n + 1] = rho;
        rates[n + 1][n] = 1.0;
    }
    equilibrium(&rates)
}

/// IPP/M/1/K: n packets with the source on, and with it off.
pub(crate) fn ipp_balance(source: Ipp, k: usize) -> (Vec<f64>, Vec<f64>) {
    let states = k + 1;
    let mut rates = vec![vec![0.0; 2 * states]; 2 * states];
    for n in 0..states {
        rates[n][states + n] = source.to_off();
        rates[states + n][n] = source.to_on();
        if n < k {
            rates[n][n + 1] = source.peak();
            rates[n + 1][n] = 1.0;
            rates[states + n + 1][states + n] = 1.0;
        }
    }
    let mut on = equilibrium(&rates);
    let off = on.split_off(states);
    (on, off)
}

// ---- simulation ----------------------------------------------------------------------------------

pub(crate) enum Arrivals {
    Poisson(f64),
    OnOff(Ipp),
}

impl Arrivals {
    pub(crate) fn poisson(rho: f64) -> Arrivals {
        Arrivals::Poisson(rho)
    }

    pub(crate) fn on_off(source: Ipp) -> Arrivals {
        Arrivals::OnOff(source)
    }

    /// Time to the next arrival; a source that sent is on.
    fn gap(&self, rng: &mut Rng) -> f64 {
        let source = match self {
            Arrivals::Poisson(rho) => return exponential(rng) / rho,
            Arrivals::OnOff(source) => source,
        };
        let mut gap = 0.0;
        loop {
            let packet = exponential(rng) / source.peak();
            let end = exponential(rng) / source.to_off();
            gap += packet.min(end);
            if packet <= end {
                return gap;
            }
            gap += exponential(rng) / source.to_on();
        }
    }
}

pub(crate) enum Service {
    Exponential,
    Fixed,
}

fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.f64()).ln()
}

const BATCHES: usize = 40;
const ARRIVALS: usize = 60_000;

/// What one batch of arrivals met.
#[derive(Clone, Default)]
struct Batch {
    lost: usize,
    elapsed: f64,
    sent: f64,
    waits: Vec<f64>,
    delays: Vec<f64>,
}

pub(crate) struct Simulated(Vec<Batch>);

/// 2.4 million arrivals, the first batch for warming up left out.
pub(crate) fn simulate(arrivals: Arrivals, service: Service, k: usize) -> Simulated {
    let mut rng = Rng::with_seed(0x0003_5eed);
    let mut departures: VecDeque<f64> = VecDeque::new();
    let (mut now, mut free_at) = (0.0, 0.0);
    let mut batches = Vec::new();
    for _ in 0..=BATCHES {
        let mut batch = Batch::default();
        for _ in 0..ARRIVALS {
            let gap = arrivals.gap(&mut rng);
            now += gap;
            batch.elapsed += gap;
            while departures.front().is_some_and(|&at| at <= now) {
                departures.pop_front();
            }
            if departures.len() == k {
                batch.lost += 1;
                continue;
            }
            let length = match service {
                Service::Exponential => exponential(&mut rng),
                Service::Fixed => 1.0,
            };
            let start = f64::max(now, free_at);
            free_at = start + length;
            departures.push_back(free_at);
            batch.sent += length;
            batch.waits.push(start - now);
            batch.delays.push(free_at - now);
        }
        batches.push(batch);
    }
    Simulated(batches.split_off(1))
}

impl Simulated {
    /// Each number of the model lies within the simulation's confidence interval (99.8 %, by batch
    /// means, Student's t with 39 degrees of freedom), and the interval is narrow.
    #[track_caller]
    pub(crate) fn agrees_with(&self, model: &dyn Model) {
        let above = |values: &[f64], limit: f64| {
            values.iter().filter(|v| **v > limit).count() as f64 / values.len() as f64
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let late = model.delay_quantile(0.95);
        let middle = model.wait_quantile(0.5) + 0.25;
        self.contains("loss", model.loss(), |b| b.lost as f64 / ARRIVALS as f64);
        self.contains("utilisation", model.utilisation(), |b| b.sent / b.elapsed);
        self.contains("mean delay", model.mean_delay(), |b| mean(&b.delays));
        self.contains("mean wait", model.mean_wait(), |b| mean(&b.waits));
        self.contains("late", model.delay_above(late), |b| above(&b.delays, late));
        self.contains("waits", model.wait_above(middle), |b| {
            above(&b.waits, middle)
        });
    }

    #[track_caller]
    fn contains(&self, what: &str, exact: f64, of: impl Fn(&Batch) -> f64) {
        const STUDENT: f64 = 3.31;
        let values: Vec<f64> = self.0.iter().map(of).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let reach = STUDENT * (squares / (n - 1.0) / n).sqrt();
        assert!(
            (mean - exact).abs() <= reach + 1e-12,
            "{what}: {exact} is outside {mean} +- {reach}"
        );
        assert!(
            reach <= 0.08 * exact + 1e-3,
            "{what}: {mean} +- {reach} says little"
        );
    }
}
