//! All runs of a sweep. The results do not depend on the number of parallel runs.

use super::campaign::{Came, Campaign, Run};
use super::input::Plan;
use super::progress::Progress;
use super::series;
use super::{ExperimentError, Runner};
use serde_json::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use unbloat_experiment::outcome::{Outcomes, judge, results};
use unbloat_table::{Rows, Table};

impl Came {
    /// The results that all runs have.
    pub fn of(outcomes: &Outcomes, run: usize) -> Came {
        Came {
            results: results(outcomes),
            notes: Vec::new(),
            tables: series::of_run(outcomes, run),
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
    done.sort_by_key(|(run, _): &Done| run.index);
    let is_cut = done.len() < plan.runs() || done.iter().any(|(run, _)| run.is_cut);
    let (mut facts, mut tables) = (Vec::new(), Vec::new());
    let runs = done.into_iter().map(|(run, more)| {
        if plan.runs() == 1 {
            facts = more.facts;
        }
        append(&mut tables, more.tables);
        run
    });
    Ok(Campaign {
        runs: runs.collect(),
        facts,
        tables,
        is_cut,
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no run panics with the lock held")
}

/// What a run has besides its results.
struct More {
    facts: Vec<(String, Value)>,
    tables: Vec<(Table, Rows)>,
}

type Done = (Run, More);

/// Puts the rows of one more run behind those of the others.
fn append(all: &mut Vec<(Table, Rows)>, tables: Vec<(Table, Rows)>) {
    for (table, rows) in tables {
        match all.iter_mut().find(|(known, _)| known.name == table.name) {
            Some((_, known)) => (0..rows.len()).for_each(|row| known.push_from(&rows, row)),
            None => all.push((table, rows)),
        }
    }
}

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
        results: came.results,
        notes: came.notes,
        is_cut: came.is_cut,
    };
    let mut tables = came.tables;
    if plan.runs() > 1 {
        // Of others it could not be said to which run a row belongs.
        tables.retain(|(table, _)| plan.keeps_series && table.columns[0].name == "run");
    }
    let facts = came.facts;
    (run, More { facts, tables })
}
