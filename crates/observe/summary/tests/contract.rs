//! The summary against the tables that the trace engine writes.

use unbloat_summary::{Summary, SummaryParams};
use unbloat_table::{ColumnType, Order, Rows, Table};

/// Rows with made-up values in all columns, some unknown.
fn rows(table: &Table, numbers: std::ops::Range<u64>) -> Rows {
    let mut rows = Rows::new(table);
    for number in numbers {
        rows.row(Order::default(), |row| {
            for (column, place) in table.columns.iter().zip(1u64..) {
                let value = (number * 31 + place).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                let is_known = value % 7 != 0;
                match column.kind {
                    ColumnType::U64 => row.cell(is_known.then_some(value % 1000)),
                    ColumnType::I64 => {
                        row.cell(is_known.then_some((number * 1000 + value % 1000) as i64))
                    }
                    ColumnType::F64 => row.cell(is_known.then_some(value as f64 / 7.0)),
                    ColumnType::Bool => row.cell(is_known.then_some(value % 2 == 0)),
                    ColumnType::Text => row
                        .cell(is_known.then_some(["down", "tcp", "10.0.0.1"][value as usize % 3])),
                }
            }
        });
    }
    rows
}

#[test]
fn the_summary_does_not_depend_on_how_many_rows_come_at_once() {
    const ROWS: u64 = 1500;
    let tables = unbloat_trace::all_tables();
    let found = [1, 7, 512, ROWS].map(|piece| {
        let mut summary = Summary::new(&tables, SummaryParams::default());
        for table in &tables {
            for from in (0..ROWS).step_by(piece as usize) {
                summary.add(table.name, &rows(table, from..ROWS.min(from + piece)));
            }
        }
        let found = summary.finish();
        format!("{:?} {:?}", found.metrics, found.figures)
    });
    assert!(found[0].len() > 10_000, "{}", found[0]);
    assert!(found.iter().all(|other| *other == found[0]));
}
