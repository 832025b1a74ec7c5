//! Rows seen through their columns' names.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use unbloat_table::{ColumnView, Rows, Table};
use unbloat_trace::flows::VolumeColumns;

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

    pub(crate) fn column(&self, name: &str) -> ColumnView<'a> {
        let found = self.index.0.get_key_value(name);
        ColumnView::of(found.and_then(|(&known, &at)| {
            if let Some(asked) = self.asked {
                asked.borrow_mut().insert(known);
            }
            self.rows.columns().get(at)
        }))
    }

    /// The numbers of the rows of TCP flows.
    pub(crate) fn tcp_rows(&self) -> impl Iterator<Item = usize> + use<'a> {
        let protocol = self.column(VolumeColumns::protocol);
        self.rows().filter(move |&row| protocol.is(row, "tcp"))
    }
}
