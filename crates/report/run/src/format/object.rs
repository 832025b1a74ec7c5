//! Rows as JSON objects, for the formats made of them.
//!
//! Values are by `serde_json`. `arrow-json` (60.1) writes 15 Gbit/s as `1.5e10` and not as `15000000000.0`, and takes `arrow-cast`, `arrow-ord`,
//! `lexical-core` and what they need along.

use super::cell::Cell;
use crate::TableSchema;
use std::io::{self, Write};
use unbloat_table::ColumnData;

/// A piece of text is handed on when it has this size.
const PIECE_BYTES: usize = 1 << 16;

/// Rows as JSON objects. What stands before each value is the same in every row, so it is
/// escaped once.
#[derive(Default)]
pub(super) struct RowText {
    before: Vec<Vec<u8>>,
}

impl RowText {
    /// `tag` is the value of a leading key `table`.
    pub(super) fn new(table: &TableSchema, tag: Option<&str>) -> io::Result<RowText> {
        let mut lead = b"{".to_vec();
        if let Some(tag) = tag {
            lead.extend_from_slice(b"\"table\":");
            Cell::Text(tag).write_json(&mut lead)?;
            lead.push(b',');
        }
        let mut before = Vec::with_capacity(table.columns.len());
        for column in &table.columns {
            Cell::Text(&column.name).write_json(&mut lead)?;
            lead.push(b':');
            before.push(std::mem::replace(&mut lead, b",".to_vec()));
        }
        Ok(RowText { before })
    }

    /// Writes each row between `before(row)` and `after`.
    pub(super) fn write_rows(
        &self,
        out: &mut dyn Write,
        columns: &[ColumnData],
        rows: usize,
        before: impl Fn(usize) -> &'static [u8],
        after: &[u8],
    ) -> io::Result<()> {
        let mut text = Vec::new();
        for row in 0..rows {
            text.extend_from_slice(before(row));
            for (key, column) in self.before.iter().zip(columns) {
                text.extend_from_slice(key);
                Cell::of(column, row).write_json(&mut text)?;
            }
            text.push(b'}');
            text.extend_from_slice(after);
            if text.len() >= PIECE_BYTES {
                out.write_all(&text)?;
                text.clear();
            }
        }
        out.write_all(&text)
    }
}
