//! The interface between a campaign and the code that measures.

use serde_json::Value;
use std::error::Error;
use std::sync::atomic::AtomicBool;
use unbloat_campaign::{Cell, Reading};
use unbloat_table::{Rows, Table};
use unbloat_units::Delta;

/// What one run found.
pub struct Came {
    pub readings: Vec<Reading>,
    /// Warnings and limitations, one sentence each.
    pub notes: Vec<String>,
    pub tables: Vec<(Table, Rows)>,
    /// As a test writes it to `run.json`.
    pub verdict: Value,
}

/// Measures cells.
pub trait Measure {
    /// Duration of one run, without hooks and pauses.
    fn lasts(&self, cell: &Cell) -> Delta;

    /// Measures one run and reports progress to `tell`. None: the run was stopped and has no result.
    fn measure(
        &mut self,
        cell: &Cell,
        stop: &AtomicBool,
        tell: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Option<Came>, Box<dyn Error + Send + Sync>>;
}
