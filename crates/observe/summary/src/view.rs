//! Rows seen through their columns' names.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use unbloat_table::{ColumnData, Rows, Table};

/// Where each column of a table is. Live capture brings a few rows at a time, so finding a column
/// must not cost more than reading it.
pub(crate) struct Index(HashMap<&'static str, usize>);

impl Index {
    pub(crate) fn of(table: &Table) -> Index {
        let places = table.columns.iter().enumerate();
        Index(places.map(|(i, c)| (c.name, i)).collect())
    }
}

pub(crate) struct View<'a> {
    index: &'a Index,
    rows: &'a Rows,
    /// Where to note the columns that are asked for.
    asked: Option<&'a RefCell<BTreeSet<&'static str>>>,
}

/// The values of one column; all unknown when the table has no such column.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a>(Option<&'a ColumnData>);

impl<'a> View<'a> {
    pub(crate) fn new(index: &'a Index, rows: &'a Rows) -> View<'a> {
        let asked = None;
        View { index, rows, asked }
    }

    /// The columns that `reader` asks for, whatever the rows are.
    pub(crate) fn asked_by(table: &Table, reader: impl FnOnce(&View)) -> BTreeSet<&'static str> {
        let asked = RefCell::default();
        reader(&View {
            index: &Index::of(table),
            rows: &Rows::new(table),
            asked: Some(&asked),
        });
        asked.into_inner()
    }

    pub(crate) fn rows(&self) -> std::ops::Range<usize> {
        0..self.rows.len()
    }

    pub(crate) fn column(&self, name: &str) -> Values<'a> {
        let found = self.index.0.get_key_value(name);
        Values(found.and_then(|(&known, &at)| {
            if let Some(asked) = self.asked {
                asked.borrow_mut().insert(known);
            }
            self.rows.columns().get(at)
        }))
    }

    /// The numbers of the rows of TCP flows.
    pub(crate) fn tcp_rows(&self) -> impl Iterator<Item = usize> + use<'a> {
        let protocol = self.column("protocol");
        self.rows().filter(move |&row| protocol.is(row, "tcp"))
    }
}

impl<'a> Values<'a> {
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

    pub(crate) fn is(&self, row: usize, text: &str) -> bool {
        self.text(row) == Some(text)
    }

    pub(crate) fn is_true(&self, row: usize) -> bool {
        matches!(self.0, Some(ColumnData::Bool(values)) if values.get(row) == Some(true))
    }
}
