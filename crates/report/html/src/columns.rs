//! Columns of a table by name, those that are there.

use std::collections::BTreeSet;
use unbloat_run::{Batch, RunError, RunReader};
use unbloat_table::{ColumnView, Rows, Table};

/// What has tables: a run, or the rows that become one.
pub(crate) trait Tables {
    /// As [`each_batch`].
    fn each(
        &self,
        table: &str,
        wanted: &[&str],
        each: &mut dyn FnMut(&Batch),
    ) -> Result<(), RunError>;
}

impl Tables for RunReader {
    fn each(
        &self,
        table: &str,
        wanted: &[&str],
        each: &mut dyn FnMut(&Batch),
    ) -> Result<(), RunError> {
        let Some(known) = known(self, table, wanted) else {
            return Ok(());
        };
        for batch in self.read_columns(table, &known)? {
            each(&batch?);
        }
        Ok(())
    }
}

impl Tables for [(Table, Rows)] {
    fn each(&self, table: &str, _: &[&str], each: &mut dyn FnMut(&Batch)) -> Result<(), RunError> {
        let of_name = self.iter().filter(|(known, _)| known.name == table);
        of_name.for_each(|(found, rows)| each(&Batch::of(found, rows)));
        Ok(())
    }
}

/// Hands every batch of `table` to `each`; from a run, only the wanted columns are read. A table that is not there has no rows.
pub(crate) fn each_batch(
    of: &(impl Tables + ?Sized),
    table: &str,
    wanted: &[&str],
    mut each: impl FnMut(&Batch),
) -> Result<(), RunError> {
    of.each(table, wanted, &mut each)
}

/// The same of the rows of some flows.
pub(crate) fn each_batch_of(
    run: &RunReader,
    flow_ids: &BTreeSet<u64>,
    table: &str,
    wanted: &[&str],
    mut each: impl FnMut(&Batch),
) -> Result<(), RunError> {
    const KEY: &str = "flow_id";
    let Some(known) = known(run, table, wanted).filter(|known| known.contains(&KEY)) else {
        return Ok(());
    };
    for batch in run.read_rows(table, &known, KEY, flow_ids)? {
        each(&batch?);
    }
    Ok(())
}

/// Of the wanted columns those that the table has; `None` if there is no such table.
fn known<'w>(run: &RunReader, table: &str, wanted: &[&'w str]) -> Option<Vec<&'w str>> {
    let stored = run.table(table).ok()?;
    let has = |name: &&&str| stored.schema.columns.iter().any(|c| c.name == **name);
    Some(wanted.iter().filter(has).copied().collect())
}

/// The column of that name.
pub(crate) fn column_of<'a>(batch: &'a Batch, name: &str) -> ColumnView<'a> {
    ColumnView::of(batch.column(name))
}
