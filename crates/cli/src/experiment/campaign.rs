//! All runs of a sweep. The results do not depend on the number of parallel runs.

use super::input::Plan;
use super::progress::Progress;
use super::rows::series;
use super::{ExperimentError, Runner};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use unbloat_experiment::outcome::{Judgement, Outcomes, RunResult, judge, results};
use unbloat_table::{Rows, Table};

/// The results of an experiment, from the simulator or the lab.
pub struct Came {
    pub results: Vec<RunResult>,
    /// Warnings about the run, one sentence each.
    pub notes: Vec<String>,
    /// Series and other tables that only a single run has.
    pub tables: Vec<(Table, Rows)>,
    /// Conditions, for `run.json`.
    pub facts: Vec<(String, Value)>,
    /// It was stopped before its end.
    pub is_cut: bool,
}

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

/// One run and its results.
pub struct Run {
    pub index: usize,
    pub point: usize,
    pub repeat: u64,
    pub seed: u64,
    pub results: Vec<RunResult>,
    pub judgements: Vec<Judgement>,
    notes: Vec<String>,
    is_cut: bool,
}

pub struct Campaign {
    /// In order, without runs that Ctrl-C prevented.
    pub runs: Vec<Run>,
    /// The results of the only run; `None` if there are several.
    pub came: Option<Came>,
    pub is_cut: bool,
}

impl Campaign {
    /// The first run that fails ends it.
    pub fn run(
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

    pub fn keeps_bounds(&self) -> bool {
        let judgements = self.runs.iter().flat_map(|run| &run.judgements);
        judgements.into_iter().all(|judgement| judgement.holds)
    }

    /// The notes of all runs, without duplicates.
    pub fn notes(&self) -> Vec<String> {
        let mut told = BTreeSet::new();
        let notes = self.runs.iter().flat_map(|run| &run.notes);
        notes.filter(|note| told.insert(*note)).cloned().collect()
    }
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
