//! The results of all runs of a sweep.

use serde_json::Value;
use std::collections::BTreeSet;
use unbloat_experiment::outcome::{Judgement, RunResult};
use unbloat_table::{Rows, Table};

/// The results of an experiment, from the simulator or the lab.
pub struct Came {
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
    pub index: usize,
    pub point: usize,
    pub repeat: u64,
    pub seed: u64,
    pub results: Vec<RunResult>,
    pub judgements: Vec<Judgement>,
    pub notes: Vec<String>,
    pub is_cut: bool,
}

pub struct Campaign {
    /// In order, without runs that Ctrl-C prevented.
    pub runs: Vec<Run>,
    /// Conditions of the only run; none if there are several.
    pub facts: Vec<(String, Value)>,
    /// Series of all runs, and what else a single run has.
    pub tables: Vec<(Table, Rows)>,
    pub is_cut: bool,
}

impl Campaign {
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
