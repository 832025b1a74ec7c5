//! Columns of a stored table by name, those that are there.

use unbloat_run::{Batch, RunError, RunReader};
use unbloat_table::ColumnView;

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

/// The column of that name.
pub(crate) fn column_of<'a>(batch: &'a Batch, name: &str) -> ColumnView<'a> {
    ColumnView::of(batch.column(name))
}
