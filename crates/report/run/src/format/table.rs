//! Aligned columns for people: units under the names, numbers to the right, as many columns as the
//! terminal is wide. What is left out is said.
//!
//! Texts come from the wire, so control characters and those that turn the direction of writing
//! are shown escaped: a server's name must not be able to drive the terminal.

use super::cell::Cell;
use super::{Bounds, Format};
use crate::TableSchema;
use crate::schema::without_unit;
use std::io::{self, Write};
use unbloat_table::{ColumnData, ColumnType};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The widest that a text may be.
const TEXT_WIDTH: usize = 40;

/// Spaces between columns.
const GAP: usize = 2;

pub(super) struct Aligned {
    bounds: Bounds,
    table: String,
    columns: Vec<Column>,
    rows: usize,
}

struct Column {
    name: String,
    unit: String,
    numeric: bool,
    cells: Vec<String>,
}

impl Aligned {
    pub(super) fn new(bounds: Bounds) -> Aligned {
        Aligned {
            bounds,
            table: String::new(),
            columns: Vec::new(),
            rows: 0,
        }
    }

    /// The leading columns that fit the width, at least one, with their widths.
    fn fitting(&self) -> Vec<(&Column, usize)> {
        let mut used = 0;
        let widths = self.columns.iter().map(|c| (c, c.width()));
        let fitting = widths.take_while(|&(_, width)| {
            let first = used == 0;
            used += width + if first { 0 } else { GAP };
            first || used <= self.bounds.width
        });
        fitting.collect()
    }

    fn left_out(&self, rows: usize, columns: usize) -> Option<String> {
        let parts = [
            (self.rows - rows, "rows"),
            (self.columns.len() - columns, "columns"),
        ];
        let parts = parts.iter().filter(|&&(n, _)| n > 0);
        let words: Vec<String> = parts.map(|(n, what)| format!("{n} more {what}")).collect();
        (!words.is_empty()).then(|| format!("… and {}", words.join(", ")))
    }
}

impl Format for Aligned {
    fn begin_table(&mut self, _: &mut dyn Write, table: &TableSchema) -> io::Result<()> {
        self.table.clone_from(&table.name);
        self.rows = 0;
        let columns = table.columns.iter().map(|c| Column {
            name: without_unit(&c.name).to_owned(),
            unit: c.unit.clone().unwrap_or_default(),
            numeric: !matches!(c.kind, ColumnType::Text | ColumnType::Bool),
            cells: Vec::new(),
        });
        self.columns = columns.collect();
        Ok(())
    }

    fn append(&mut self, _: &mut dyn Write, columns: &[ColumnData], rows: usize) -> io::Result<()> {
        let shown = rows.min(self.bounds.rows.saturating_sub(self.rows));
        for (column, data) in self.columns.iter_mut().zip(columns) {
            let cells = (0..shown).map(|row| shown_as(Cell::of(data, row)));
            column.cells.extend(cells);
        }
        self.rows += rows;
        Ok(())
    }

    fn finish_table(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.fitting();
        let rows = self.rows.min(self.bounds.rows);
        writeln!(out, "{}", self.table)?;
        write_line(out, &columns, |c| &c.name)?;
        if columns.iter().any(|(c, _)| !c.unit.is_empty()) {
            write_line(out, &columns, |c| &c.unit)?;
        }
        for row in 0..rows {
            write_line(out, &columns, |c| &c.cells[row])?;
        }
        match self.left_out(rows, columns.len()) {
            Some(words) => writeln!(out, "{words}\n"),
            None => writeln!(out),
        }
    }
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|c| c.width()).max().unwrap_or(0);
        cells.max(self.name.width()).max(self.unit.width())
    }
}

fn write_line<'a>(
    out: &mut dyn Write,
    columns: &[(&'a Column, usize)],
    cell: impl Fn(&'a Column) -> &'a str,
) -> io::Result<()> {
    let mut line = String::new();
    for (i, &(column, width)) in columns.iter().enumerate() {
        let text = cell(column);
        let space = " ".repeat(width - text.width());
        if i > 0 {
            line.push_str(&" ".repeat(GAP));
        }
        match column.numeric {
            true => line.extend([&space, text]),
            false => line.extend([text, &space]),
        }
    }
    writeln!(out, "{}", line.trim_end())
}

fn shown_as(cell: Cell<'_>) -> String {
    match cell {
        Cell::Unknown => "-".to_owned(),
        Cell::U64(n) => n.to_string(),
        Cell::I64(n) => n.to_string(),
        Cell::F64(x) => float(x),
        Cell::Bool(yes) => if yes { "yes" } else { "no" }.to_owned(),
        Cell::Text(text) => shortened(text),
    }
}

/// About four digits; more would feign a precision that nobody reads.
fn float(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        a if !(1e-3..1e15).contains(&a) => format!("{x:.2e}"),
        a if a < 10.0 => format!("{x:.3}"),
        a if a < 100.0 => format!("{x:.2}"),
        a if a < 1000.0 => format!("{x:.1}"),
        _ => format!("{x:.0}"),
    }
}

/// `text` in at most [`TEXT_WIDTH`] columns, free of characters that act on the terminal.
fn shortened(text: &str) -> String {
    let mut shown = String::new();
    let mut width = 0;
    for c in text.chars() {
        let piece = match is_unsafe(c) {
            true => c.escape_default().to_string(),
            false => c.to_string(),
        };
        width += piece.width();
        if width >= TEXT_WIDTH {
            shown.push('…');
            break;
        }
        shown.push_str(&piece);
    }
    shown
}

/// Control characters, and the invisible ones: they have no width, among them are those that
/// turn the direction of writing (Unicode Annex 9).
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || c.width().unwrap_or(0) == 0
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::FormatKind;
    use crate::format::tests::{HOSTILE, WIDE, print, rows};

    #[test]
    fn numbers_stand_right_and_units_below_the_names() {
        let text = print(
            FormatKind::Table,
            WIDE,
            &[rows(&[("日本", true), ("x", false)])],
        );
        let expected = "\
t
name                  size                  time    rtt  pep
                         B                    ns     ms
日本  18446744073709551615  -9223372036854775808  0.100  yes
x                        -                     -      -  -

";
        assert_eq!(text, expected);
    }

    #[test]
    fn no_line_is_wider_than_asked_and_what_is_left_out_is_said() {
        let all: Vec<(&str, bool)> = HOSTILE.iter().map(|&text| (text, true)).collect();
        let bounds = Bounds { width: 55, rows: 3 };
        let text = print(FormatKind::Table, bounds, &[rows(&all)]);
        assert!(text.lines().all(|line| line.width() <= 55), "{text}");
        assert!(
            text.ends_with("… and 5 more rows, 2 more columns\n\n"),
            "{text}"
        );
    }

    #[test]
    fn texts_from_the_wire_cannot_drive_the_terminal() {
        let long = "\u{1b}]0;title\u{7}".repeat(1000);
        let all: Vec<(&str, bool)> = HOSTILE
            .iter()
            .map(|&t| (t, true))
            .chain([(&*long, true)])
            .collect();
        let text = print(FormatKind::Table, WIDE, &[rows(&all)]);
        assert!(text.chars().all(|c| c == '\n' || !is_unsafe(c)), "{text}");
        assert!(text.contains("\\u{1b}[31mred"));
        assert!(text.lines().all(|line| line.width() <= WIDE.width));
    }

    #[test]
    fn floats_keep_about_four_digits() {
        let shown = [0.0, 0.1234567, 12.34567, 123.4567, 12345.67, 1e-9, -2e20].map(float);
        assert_eq!(
            shown,
            [
                "0", "0.123", "12.35", "123.5", "12346", "1.00e-9", "-2.00e20"
            ]
        );
    }
}
