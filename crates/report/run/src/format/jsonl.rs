//! JSON Lines: one object per row and line, nulls kept.
//!
//! The first key is `"table"`, so that several tables share a stream and `jq` can part them.

use super::object::RowText;
use super::{Bounds, Format};
use crate::TableSchema;
use std::io::{self, Write};
use unbloat_table::ColumnData;

pub(super) struct JsonLines {
    row: RowText,
}

impl JsonLines {
    pub(super) fn new(_: Bounds) -> JsonLines {
        JsonLines {
            row: RowText::default(),
        }
    }
}

impl Format for JsonLines {
    fn begin_table(&mut self, _: &mut dyn Write, table: &TableSchema) -> io::Result<()> {
        self.row = RowText::new(table, Some(&table.name))?;
        Ok(())
    }

    fn append(
        &mut self,
        out: &mut dyn Write,
        columns: &[ColumnData],
        rows: usize,
    ) -> io::Result<()> {
        self.row.write_rows(out, columns, rows, |_| b"", b"\n")
    }

    fn finish_table(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _: &mut dyn Write) -> io::Result<()> {
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
