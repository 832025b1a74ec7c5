//! All runs of a sweep. The results do not depend on the number of parallel runs.

use super::campaign::{Came, Campaign, Run};
use super::plan::Plan;
use super::pool::all_of;
use super::series;
use super::{Progress, Runner};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
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

/// Runs all points of a plan with their repeats, until `stop`.
///
/// # Errors
/// The error of the first run that fails, which ends all.
pub fn run_all<E: Send>(
    plan: &Plan,
    runner: &impl Runner<E>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Campaign, E> {
    let done: BTreeMap<usize, Done> = all_of(plan.runs(), runner.at_a_time(), stop, |index| {
        let experiment = plan.experiment(index);
        let came = runner.run(&experiment, index, stop, progress)?;
        progress.done();
        Ok(came.map(|came| judged(plan, index, experiment.seed, came)))
    })?;
    let is_cut = done.len() < plan.runs() || done.values().any(|(run, _)| run.is_cut);
    let (mut facts, mut tables) = (Vec::new(), Vec::new());
    let runs = done.into_values().map(|(run, more)| {
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
