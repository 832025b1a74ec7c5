//! One value of a column, ready to be written.

use serde::Serialize;
use std::io;
use unbloat_table::ColumnData;

/// A value; serialises as itself, unknown as null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Cell<'a> {
    Unknown,
    U64(u64),
    I64(i64),
    F64(f64),
    Bool(bool),
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// The value of `column` at `row`, which must be within it.
    pub(super) fn of(column: &'a ColumnData, row: usize) -> Cell<'a> {
        let value = match column {
            ColumnData::U64(v) => v.get(row).map(Cell::U64),
            ColumnData::I64(v) => v.get(row).map(Cell::I64),
            ColumnData::F64(v) => v.get(row).filter(|x| x.is_finite()).map(Cell::F64),
            ColumnData::Bool(v) => v.get(row).map(Cell::Bool),
            ColumnData::Text(v) => v.get(row).map(Cell::Text),
        };
        value.unwrap_or(Cell::Unknown)
    }

    pub(super) fn write_json(self, to: &mut Vec<u8>) -> io::Result<()> {
        Ok(serde_json::to_writer(to, &self)?)
    }
}
