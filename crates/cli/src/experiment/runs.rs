//! All runs of a sweep. The results do not depend on the number of parallel runs.

use super::campaign::{Came, Campaign, Run};
use super::input::Plan;
use super::progress::Progress;
use super::rows::series;
use super::{ExperimentError, Runner};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use unbloat_experiment::outcome::{Outcomes, judge, results};

impl Came {
    /// The results that all runs have.
    pub fn of(outcomes: &Outcomes) -> Came {
        Came {
            results: results(outcomes),
            notes: Vec::new(),
            tables: series(outcomes),
            facts: Vec::new(),
            is_cut: false,
        }
    }
}

/// The first run that fails ends it.
pub fn run_all(
    plan: &Plan,
    runner: &impl Runner,
    quiet: bool,
    stop: &AtomicBool,
) -> Result<Campaign, ExperimentError> {
    let progress = Progress::new(plan, runner, quiet);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..runner.at_a_time().min(plan.runs()) {
            scope.spawn(|| {
                while let Some(one) = take_next(plan, runner, &progress, &next, stop) {
                    match one {
                        Ok(one) => lock(&done).push(one),
                        Err(error) => {
                            lock(&failed).get_or_insert(error);
                            next.store(plan.runs(), Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    progress.finish();
    if let Some(error) = failed.into_inner().expect("all runs have ended") {
        return Err(error);
    }
    let mut done = done.into_inner().expect("all runs have ended");
    done.sort_by_key(|(run, _): &(Run, Option<Came>)| run.index);
    let is_cut = done.len() < plan.runs() || done.iter().any(|(run, _)| run.is_cut);
    let (runs, mut came): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    Ok(Campaign {
        runs,
        came: came.pop().flatten(),
        is_cut,
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no run panics with the lock held")
}

type Done = (Run, Option<Came>);

fn take_next(
    plan: &Plan,
    runner: &impl Runner,
    progress: &Progress,
    next: &AtomicUsize,
    stop: &AtomicBool,
) -> Option<Result<Done, ExperimentError>> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    if index >= plan.runs() || stop.load(Ordering::Relaxed) {
        return None;
    }
    let experiment = plan.experiment(index);
    let came = runner.run(&experiment, index, stop, progress).transpose()?;
    progress.done();
    Some(came.map(|came| judged(plan, index, experiment.seed, came)))
}

fn judged(plan: &Plan, index: usize, seed: u64, came: Came) -> Done {
    let repeats = plan.sweep.repeats as usize;
    let run = Run {
        index,
        point: index / repeats,
        repeat: (index % repeats) as u64,
        seed,
        judgements: judge(&plan.bounds, &came.results),
        results: came.results.clone(),
        notes: came.notes.clone(),
        is_cut: came.is_cut,
    };
    (run, (plan.runs() == 1).then_some(came))
}
