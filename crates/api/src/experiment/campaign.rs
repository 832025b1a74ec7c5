//! The results of all runs of a sweep.

use serde_json::Value;
use std::collections::BTreeSet;
use unbloat_experiment::outcome::{Judgement, RunResult};
use unbloat_table::{Rows, Table};

/// The results of an experiment, from the simulator or the lab.
pub struct Came {
    /// Named results.
    pub results: Vec<RunResult>,
    /// Warnings about the run, one sentence each.
    pub notes: Vec<String>,
    /// Series and other tables besides results.
    pub tables: Vec<(Table, Rows)>,
    /// Conditions, for `run.json`.
    pub facts: Vec<(String, Value)>,
    /// It was stopped before its end.
    pub is_cut: bool,
}

/// One run and its results.
pub struct Run {
    /// Number of the run, from 0.
    pub index: usize,
    /// Number of its point.
    pub point: usize,
    /// Number of the repeat of the point.
    pub repeat: u64,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Named results.
    pub results: Vec<RunResult>,
    /// One for each bound of the scenario.
    pub judgements: Vec<Judgement>,
    /// Warnings about the run, one sentence each.
    pub notes: Vec<String>,
    /// It was stopped before its end.
    pub is_cut: bool,
}

/// All runs of a plan.
pub struct Campaign {
    /// In order, without runs that Ctrl-C prevented.
    pub runs: Vec<Run>,
    /// Conditions of the only run; none if there are several.
    pub facts: Vec<(String, Value)>,
    /// Series of all runs, and what else a single run has.
    pub tables: Vec<(Table, Rows)>,
    /// A run was stopped, or prevented.
    pub is_cut: bool,
}

impl Campaign {
    /// Whether all runs keep all bounds of the scenario.
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
