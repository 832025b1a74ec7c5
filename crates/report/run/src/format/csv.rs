//! Comma-separated values.
//!
//! # References
//! RFC 4180 section 2.
//!
//! # Where we differ
//! | RFC 4180 | here | why |
//! |---|---|---|
//! | lines end with CRLF | with LF | `cut`, `awk` and `join` would keep the CR in the last column; all readers of CSV take LF |
//! | an empty field is an empty field | unknown is empty, the empty text is `""` | readers that care (PostgreSQL, DuckDB) can tell them apart |
//! | one table per file | an empty line between tables | several tables on one stream |
//!
//! # Why no library
//! `csv` and `arrow-csv` (60.1) choose quotes for a whole file, so a null and the empty text come out alike, and `arrow-csv` writes `NaN`.

use super::cell::Cell;
use super::{Bounds, Format};
use crate::TableSchema;
use std::io::{self, Write};
use unbloat_table::ColumnData;

/// A piece of text is handed on when it has this size.
const PIECE_BYTES: usize = 1 << 16;

pub(super) struct Csv {
    tables: usize,
    text: Vec<u8>,
}

impl Csv {
    pub(super) fn new(_: Bounds) -> Csv {
        Csv {
            tables: 0,
            text: Vec::new(),
        }
    }

    fn line<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>) -> io::Result<()> {
        for (i, cell) in cells.enumerate() {
            if i > 0 {
                self.text.push(b',');
            }
            match cell {
                Cell::Unknown => {}
                Cell::Text(text) => push_field(&mut self.text, text),
                number => number.write_json(&mut self.text)?,
            }
        }
        self.text.push(b'\n');
        Ok(())
    }

    fn hand_on(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }
}

impl Format for Csv {
    fn begin_table(&mut self, out: &mut dyn Write, table: &TableSchema) -> io::Result<()> {
        if self.tables > 0 {
            self.text.push(b'\n');
        }
        self.tables += 1;
        self.line(table.columns.iter().map(|c| Cell::Text(&c.name)))?;
        self.hand_on(out)
    }

    fn append(
        &mut self,
        out: &mut dyn Write,
        columns: &[ColumnData],
        rows: usize,
    ) -> io::Result<()> {
        for row in 0..rows {
            self.line(columns.iter().map(|column| Cell::of(column, row)))?;
            if self.text.len() >= PIECE_BYTES {
                self.hand_on(out)?;
            }
        }
        self.hand_on(out)
    }

    fn finish_table(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn push_field(line: &mut Vec<u8>, text: &str) {
    let quoted = text.is_empty() || text.contains([',', '"', '\r', '\n']);
    if !quoted {
        return line.extend_from_slice(text.as_bytes());
    }
    line.push(b'"');
    line.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use crate::format::tests::{HOSTILE, WIDE, print, rows, table};
    use crate::format::{FormatKind, TextWriter};

    #[test]
    fn an_independent_reader_gets_every_text_back() {
        let values: Vec<(&str, bool)> = HOSTILE.iter().map(|&text| (text, true)).collect();
        let text = print(FormatKind::Csv, WIDE, &[rows(&values)]);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().expect("a header");
        assert_eq!(
            header,
            vec!["name", "size_bytes", "time_ns", "rtt_ms", "pep"]
        );
        let records: Vec<csv::StringRecord> =
            reader.records().map(|r| r.expect("well-formed")).collect();
        assert_eq!(records.len(), HOSTILE.len());
        for (record, &written) in records.iter().zip(HOSTILE) {
            let expected = [
                written,
                "18446744073709551615",
                "-9223372036854775808",
                "0.1",
                "true",
            ];
            assert_eq!(record, expected.to_vec());
        }
    }

    #[test]
    fn unknown_is_empty_and_the_empty_text_is_quoted() {
        let text = print(FormatKind::Csv, WIDE, &[rows(&[("", false)])]);
        assert_eq!(text.lines().nth(1), Some("\"\",,,,"));
    }

    #[test]
    fn an_empty_line_parts_two_tables() {
        let mut writer = TextWriter::new(Vec::new(), FormatKind::Csv, WIDE);
        writer.begin(&table()).expect("memory");
        writer.begin(&table()).expect("memory");
        let text = String::from_utf8(writer.finish().expect("memory")).expect("text");
        let header = "name,size_bytes,time_ns,rtt_ms,pep\n";
        assert_eq!(text, format!("{header}\n{header}"));
    }
}
