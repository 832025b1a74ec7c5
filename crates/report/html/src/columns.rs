//! Columns of a stored table by name, those that are there.

use unbloat_run::{Batch, RunError, RunReader};
use unbloat_table::ColumnData;

/// Hands every batch of `table` to `each`, with only the wanted columns read from the disk. A table
/// that the run does not have has no rows.
pub(crate) fn each_batch(
    run: &RunReader,
    table: &str,
    wanted: &[&str],
    mut each: impl FnMut(&Batch),
) -> Result<(), RunError> {
    let Ok(stored) = run.table(table) else {
        return Ok(());
    };
    let has = |name: &&str| stored.schema.columns.iter().any(|c| c.name == **name);
    let known: Vec<&str> = wanted.iter().filter(|n| has(n)).copied().collect();
    for batch in run.read_columns(table, &known)? {
        each(&batch?);
    }
    Ok(())
}

/// A column that may be missing.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a>(Option<&'a ColumnData>);

impl<'a> Values<'a> {
    pub(crate) fn of(batch: &'a Batch, name: &str) -> Values<'a> {
        Values(batch.column(name))
    }

    pub(crate) fn f64(&self, row: usize) -> Option<f64> {
        self.0?.as_f64(row).filter(|x| x.is_finite())
    }

    pub(crate) fn u64(&self, row: usize) -> Option<u64> {
        match self.0? {
            ColumnData::U64(values) => values.get(row),
            other => other.as_f64(row).map(|x| x as u64),
        }
    }

    pub(crate) fn i64(&self, row: usize) -> Option<i64> {
        match self.0? {
            ColumnData::I64(values) => values.get(row),
            other => other.as_f64(row).map(|x| x as i64),
        }
    }

    pub(crate) fn text(&self, row: usize) -> Option<&'a str> {
        self.0?.as_text(row)
    }
}
