//! What a table's columns are.

use crate::Cell;

/// The type of a column's values. Every column may hold nulls, which mean "unknown".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    U64,
    I64,
    F64,
    Bool,
    Text,
}

/// One column: name with unit suffix, type, and one sentence of meaning with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: ColumnType,
    pub doc: &'static str,
}

impl Column {
    /// One that holds values of this type.
    pub const fn of<T: Cell>(name: &'static str, doc: &'static str) -> Column {
        Column {
            name,
            kind: T::KIND,
            doc,
        }
    }
}

/// A table: its name (also its file's stem), what one row is, and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: &'static str,
    pub doc: &'static str,
    pub columns: Vec<Column>,
}

impl Table {
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}
