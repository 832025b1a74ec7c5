//! JSON: one object, `{"schema_version":1,"tables":{"flows":[{...},...],...}}`, written as it comes.

use super::cell::Cell;
use super::object::RowText;
use super::{Bounds, Format};
use crate::TableSchema;
use std::io::{self, Write};
use unbloat_table::{ColumnData, SCHEMA_VERSION};

pub(super) struct Json {
    tables: usize,
    rows: usize,
    row: RowText,
}

impl Json {
    pub(super) fn new(_: Bounds) -> Json {
        Json {
            tables: 0,
            rows: 0,
            row: RowText::default(),
        }
    }

    fn head(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{{\"schema_version\":{SCHEMA_VERSION},\"tables\":{{")
    }
}

impl Format for Json {
    fn begin_table(&mut self, out: &mut dyn Write, table: &TableSchema) -> io::Result<()> {
        match self.tables {
            0 => self.head(out)?,
            _ => out.write_all(b",")?,
        }
        self.tables += 1;
        self.rows = 0;
        self.row = RowText::new(table, None)?;
        let mut name = Vec::new();
        Cell::Text(&table.name).write_json(&mut name)?;
        name.extend_from_slice(b":[");
        out.write_all(&name)
    }

    fn append(
        &mut self,
        out: &mut dyn Write,
        columns: &[ColumnData],
        rows: usize,
    ) -> io::Result<()> {
        let earlier = self.rows;
        self.rows += rows;
        let before = |row: usize| -> &'static [u8] {
            match earlier + row {
                0 => b"\n",
                _ => b",\n",
            }
        };
        self.row.write_rows(out, columns, rows, before, b"")
    }

    fn finish_table(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"]")
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.tables == 0 {
            self.head(out)?;
        }
        out.write_all(b"}}\n")
    }
}

#[cfg(test)]
mod tests {
    use crate::format::tests::{HOSTILE, WIDE, print, rows, table};
    use crate::format::{FormatKind, TextWriter};
    use serde_json::{Value, json};

    #[test]
    fn the_whole_is_one_object_with_all_rows() {
        let values: Vec<(&str, bool)> = HOSTILE.iter().map(|&text| (text, true)).collect();
        let text = print(
            FormatKind::Json,
            WIDE,
            &[rows(&values), rows(&[("", false)])],
        );
        let json: Value = serde_json::from_str(&text).expect("JSON");
        let names: Vec<&Value> = json["tables"]["t"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| &row["name"])
            .collect();
        let expected: Vec<&str> = HOSTILE.iter().copied().chain([""]).collect();
        assert_eq!(names, expected);
        assert_eq!(json["schema_version"], unbloat_table::SCHEMA_VERSION);
    }

    #[test]
    fn no_table_and_empty_tables_are_valid_too() {
        let silent = TextWriter::new(Vec::new(), FormatKind::Json, WIDE);
        let none: Value = serde_json::from_slice(&silent.finish().expect("memory")).expect("JSON");
        assert_eq!(none["tables"], json!({}));
        let mut writer = TextWriter::new(Vec::new(), FormatKind::Json, WIDE);
        let mut other = table();
        other.name = "u";
        writer.begin(&table()).expect("memory");
        writer.begin(&other).expect("memory");
        let two: Value = serde_json::from_slice(&writer.finish().expect("memory")).expect("JSON");
        assert_eq!(two["tables"], json!({"t": [], "u": []}));
    }
}
