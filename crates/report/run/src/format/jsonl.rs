//! JSON Lines: one object per row and line, nulls kept.
//!
//! The first key is `"table"`, so that several tables share a stream and `jq` can part them.

use super::cell::Cell;
use super::{Bounds, Format};
use crate::TableSchema;
use std::io::{self, Write};
use unbloat_table::ColumnData;

/// A piece of text is handed on when it has this size.
const PIECE_BYTES: usize = 1 << 16;

/// Values are by `serde_json`. `arrow-json` (60.1) writes 15 Gbit/s as `1.5e10` and not as `15000000000.0`, and takes `arrow-cast`, `arrow-ord`,
/// `lexical-core` and what they need along.
pub(super) struct JsonLines {
    /// What stands before each value is the same in every row, so it is escaped once.
    before: Vec<Vec<u8>>,
}

impl JsonLines {
    pub(super) fn new(_: Bounds) -> JsonLines {
        JsonLines { before: Vec::new() }
    }
}

impl Format for JsonLines {
    fn begin_table(&mut self, _: &mut dyn Write, table: &TableSchema) -> io::Result<()> {
        let mut lead = b"{\"table\":".to_vec();
        Cell::Text(&table.name).write_json(&mut lead)?;
        lead.push(b',');
        self.before.clear();
        for column in &table.columns {
            Cell::Text(&column.name).write_json(&mut lead)?;
            lead.push(b':');
            self.before
                .push(std::mem::replace(&mut lead, b",".to_vec()));
        }
        Ok(())
    }

    fn append(
        &mut self,
        out: &mut dyn Write,
        columns: &[ColumnData],
        rows: usize,
    ) -> io::Result<()> {
        let mut text = Vec::new();
        for row in 0..rows {
            for (key, column) in self.before.iter().zip(columns) {
                text.extend_from_slice(key);
                Cell::of(column, row).write_json(&mut text)?;
            }
            text.extend_from_slice(b"}\n");
            if text.len() >= PIECE_BYTES {
                out.write_all(&text)?;
                text.clear();
            }
        }
        out.write_all(&text)
    }

    fn finish_table(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::format::FormatKind;
    use crate::format::tests::{HOSTILE, WIDE, print, rows, table};
    use serde_json::{Value, json};
    use unbloat_table::{Order, Rows};

    #[test]
    fn each_line_is_a_row_with_its_nulls() {
        let values: Vec<(&str, bool)> =
            HOSTILE.iter().map(|&text| (text, text.len() > 9)).collect();
        let text = print(FormatKind::Jsonl, WIDE, &[rows(&values)]);
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines.len(), values.len());
        for (line, (name, known)) in lines.iter().zip(values) {
            let expected = match known {
                true => {
                    json!({"table": "t", "name": name, "size_bytes": u64::MAX, "time_ns": i64::MIN, "rtt_ms": 0.1, "pep": true})
                }
                false => {
                    json!({"table": "t", "name": name, "size_bytes": null, "time_ns": null, "rtt_ms": null, "pep": null})
                }
            };
            assert_eq!(*line, expected);
        }
    }

    #[test]
    fn a_float_that_is_no_number_is_null() {
        let mut rows = Rows::new(&table());
        for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            rows.row(Order::default(), |row| {
                row.cell(None::<&str>);
                row.cell(1_u64);
                row.cell(1_i64);
                row.cell(float);
                row.cell(false);
            });
        }
        let text = print(FormatKind::Jsonl, WIDE, &[rows]);
        assert_eq!(text.matches("\"rtt_ms\":null").count(), 3);
    }
}
