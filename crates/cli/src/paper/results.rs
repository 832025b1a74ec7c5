//! Results and points of a sweep, read from the tables of its run.

use std::collections::BTreeMap;
use unbloat_experiment::outcome::RunResult;
use unbloat_table::{Rows, Table};

/// Table `results`, by point and repeat.
pub fn by_run(table: &Table, rows: &Rows) -> BTreeMap<(usize, u64), Vec<RunResult>> {
    let column = |name| {
        let index = table.column(name).expect("a column of this table");
        &rows.columns()[index]
    };
    let [point, repeat, value] = ["point", "repeat", "value"].map(column);
    let [subject, metric] = ["subject", "metric"].map(column);
    let mut runs: BTreeMap<(usize, u64), Vec<RunResult>> = BTreeMap::new();
    for row in 0..rows.len() {
        let (Some(point), Some(repeat), Some(value)) =
            (point.as_f64(row), repeat.as_f64(row), value.as_f64(row))
        else {
            continue;
        };
        let of_run = runs.entry((point as usize, repeat as u64)).or_default();
        of_run.push(RunResult {
            subject: subject.as_text(row).unwrap_or_default().to_owned(),
            metric: metric.as_text(row).unwrap_or_default().to_owned(),
            value,
        });
    }
    runs
}

/// Table `points`: by point, its values by key.
pub fn points(table: &Table, rows: &Rows) -> BTreeMap<usize, BTreeMap<String, String>> {
    let column = |name| {
        let index = table.column(name).expect("a column of this table");
        &rows.columns()[index]
    };
    let [point, key, value] = ["point", "key", "value"].map(column);
    let mut points: BTreeMap<usize, BTreeMap<String, String>> = BTreeMap::new();
    for row in 0..rows.len() {
        if let (Some(point), Some(key), Some(value)) =
            (point.as_f64(row), key.as_text(row), value.as_text(row))
        {
            let values = points.entry(point as usize).or_default();
            values.insert(key.to_owned(), value.to_owned());
        }
    }
    points
}
