//! Tables as text. Each format is one file and one line of the list below.
//!
//! In all of them a null is "unknown", and a float that is no number (NaN, infinity) is written as
//! null, because JSON has none.

mod cell;
mod csv;
mod jsonl;
mod table;

use crate::TableSchema;
use std::io::{self, Write};
use unbloat_table::{ColumnData, Table};

/// How tables turn into text. Calls come in the order `begin_table`, any `append`,
/// `finish_table` for each table.
trait Format {
    fn begin_table(&mut self, out: &mut dyn Write, table: &TableSchema) -> io::Result<()>;
    /// Writes the rows of `columns`, which all have the same length.
    fn append(
        &mut self,
        out: &mut dyn Write,
        columns: &[ColumnData],
        rows: usize,
    ) -> io::Result<()>;
    fn finish_table(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

/// Bounds of what is meant for eyes; formats for programs write everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Columns of the terminal.
    pub width: usize,
    /// Rows shown of each table.
    pub rows: usize,
}

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident => $name:literal, $make:expr;)*) => {
        /// The formats that there are.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FormatKind { $($(#[$doc])* $variant,)* }

        impl FormatKind {
            pub const ALL: &'static [FormatKind] = &[$(FormatKind::$variant,)*];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(FormatKind::$variant => $name,)* }
            }

            fn make(self, bounds: Bounds) -> Box<dyn Format> {
                match self { $(FormatKind::$variant => Box::new($make(bounds)),)* }
            }
        }
    };
}

formats! {
    /// Aligned columns for people.
    Table => "table", table::Aligned::new;
    /// One object per row and line.
    Jsonl => "jsonl", jsonl::JsonLines::new;
    /// Comma-separated values.
    Csv => "csv", csv::Csv::new;
}

impl FormatKind {
    pub fn from_name(name: &str) -> Option<FormatKind> {
        FormatKind::ALL.iter().copied().find(|f| f.name() == name)
    }
}

/// Writes tables in one format, one table after the other, rows in pieces.
pub struct TextWriter<W: Write> {
    out: W,
    format: Box<dyn Format>,
    in_table: bool,
}

impl<W: Write> TextWriter<W> {
    pub fn new(out: W, kind: FormatKind, bounds: Bounds) -> TextWriter<W> {
        TextWriter {
            out,
            format: kind.make(bounds),
            in_table: false,
        }
    }

    /// Begins a table that an analysis fills; the table before it ends.
    pub fn begin(&mut self, table: &Table) -> io::Result<()> {
        self.begin_stored(&TableSchema::from(table))
    }

    /// Begins a table that was read from a run, or some of its columns.
    pub fn begin_stored(&mut self, table: &TableSchema) -> io::Result<()> {
        self.end_table()?;
        self.in_table = true;
        self.format.begin_table(&mut self.out, table)
    }

    /// Appends rows to the table that was begun last: the columns of `Rows` or of a `Batch`.
    ///
    /// # Panics
    /// If no table was begun.
    pub fn append(&mut self, columns: &[ColumnData], rows: usize) -> io::Result<()> {
        assert!(self.in_table, "rows belong to a table");
        self.format.append(&mut self.out, columns, rows)
    }

    /// Ends the text and gives the output back, flushed.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_table()?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn end_table(&mut self) -> io::Result<()> {
        if self.in_table {
            self.in_table = false;
            self.format.finish_table(&mut self.out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use unbloat_table::{Column, Order, Rows};

    pub(crate) fn table() -> Table {
        Table {
            name: "t",
            doc: "one row per value",
            columns: vec![
                Column::of::<&str>("name", ""),
                Column::of::<u64>("size_bytes", ""),
                Column::of::<i64>("time_ns", ""),
                Column::of::<f64>("rtt_ms", ""),
                Column::of::<bool>("pep", ""),
            ],
        }
    }

    /// A text, and whether the numbers beside it are known.
    pub(crate) fn rows(texts: &[(&str, bool)]) -> Rows {
        let mut rows = Rows::new(&table());
        for &(text, known) in texts {
            rows.row(Order::default(), |row| {
                row.cell(text);
                row.cell(known.then_some(u64::MAX));
                row.cell(known.then_some(i64::MIN));
                row.cell(known.then_some(0.1));
                row.cell(known.then_some(true));
            });
        }
        rows
    }

    pub(crate) fn print(kind: FormatKind, bounds: Bounds, pieces: &[Rows]) -> String {
        let mut writer = TextWriter::new(Vec::new(), kind, bounds);
        writer.begin(&table()).expect("memory");
        for rows in pieces {
            writer.append(rows.columns(), rows.len()).expect("memory");
        }
        String::from_utf8(writer.finish().expect("memory")).expect("text")
    }

    pub(crate) const WIDE: Bounds = Bounds {
        width: 120,
        rows: 10,
    };

    pub(crate) const HOSTILE: &[&str] = &[
        "plain",
        "",
        "a,b;c\td",
        "say \"no\"",
        "line\r\nbreak\n",
        "\u{1b}[31mred\u{7}\0",
        "ü 日本 \u{202e}drow",
        "</script>'=1+1",
    ];

    #[test]
    fn each_name_leads_to_its_format() {
        for &kind in FormatKind::ALL {
            assert_eq!(FormatKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(FormatKind::from_name("xml"), None);
    }

    #[test]
    fn pieces_and_empty_pieces_print_like_one() {
        let whole = rows(&[("a", true), ("b", false), ("c", true)]);
        let parts = [
            rows(&[("a", true)]),
            rows(&[]),
            rows(&[("b", false), ("c", true)]),
        ];
        for &kind in FormatKind::ALL {
            let once = print(kind, WIDE, std::slice::from_ref(&whole));
            assert_eq!(print(kind, WIDE, &parts), once, "{}", kind.name());
        }
    }
}
