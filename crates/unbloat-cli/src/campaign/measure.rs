//! The seam between a campaign and what measures.

use std::error::Error;
use std::sync::atomic::AtomicBool;
use unbloat_campaign::{Cell, Reading};
use unbloat_table::{Rows, Table};
use unbloat_units::Delta;

/// What one run found.
pub struct Came {
    pub readings: Vec<Reading>,
    /// Why it may not be believed, and what it lacks, a sentence each.
    pub notes: Vec<String>,
    pub tables: Vec<(Table, Rows)>,
}

/// Measures cells.
pub trait Measure {
    /// How long a run of it takes, hooks and pauses aside.
    fn lasts(&self, cell: &Cell) -> Delta;

    /// One run; `tell` is called with how far it is. None: it was stopped, and there is nothing to keep.
    fn measure(
        &mut self,
        cell: &Cell,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Option<Came>, Box<dyn Error + Send + Sync>>;
}
