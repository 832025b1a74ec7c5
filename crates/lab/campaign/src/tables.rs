//! Medians and spread as a table of a run.

use crate::cell::Cell;
use crate::finding::Finding;
use unbloat_table::{Column, Order, Rows, Table};

/// As every campaign's report has it.
pub fn table() -> Table {
    Table {
        name: "campaign",
        doc: "one row per combination, load and number: its median and spread over repeats",
        columns: vec![
            Column::u64(
                "point",
                "number of the combination, from 0; what it is stands in `points`",
            ),
            Column::text("cell", "its name: what the names of its runs begin with"),
            Column::text("title", "its labels and settings, name=value"),
            Column::text("load", "what loaded the path: idle, down, up or both"),
            Column::text("subject", "a direction, an application by its name, or all"),
            Column::text("metric", "which number, with its unit as suffix"),
            Column::u64("runs", "repeats that have it"),
            Column::f64("median", "median over repeats, in the metric's unit"),
            Column::f64(
                "deviation",
                "standard deviation over repeats; null of a single one",
            ),
            Column::f64("min", "least of all repeats"),
            Column::f64("max", "greatest of all repeats"),
        ],
    }
}

/// `campaign`, with its rows.
pub fn findings_table(cells: &[Cell], found: &[Finding]) -> (Table, Rows) {
    let table = table();
    let mut rows = Rows::new(&table);
    for (finding, number) in found.iter().zip(0..) {
        let cell = &cells[finding.cell];
        let mut row = rows.row(Order {
            written_at: number,
            subject: 0,
        });
        row.u64(cell.index as u64);
        row.text(&cell.id[..]);
        row.text(&cell.title()[..]);
        row.text(&finding.load[..]);
        row.text(&finding.subject[..]);
        row.text(&finding.metric[..]);
        row.u64(finding.values.len() as u64);
        row.f64(finding.median());
        row.f64(finding.deviation());
        row.f64(finding.least());
        row.f64(finding.most());
    }
    (table, rows)
}
