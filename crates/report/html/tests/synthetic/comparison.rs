//! A made-up comparison of two simulations.

use crate::synthetic::HOSTILE;
use unbloat_compare::{Collector, Comparison, Facts, Run, Tolerance, compare};
use unbloat_table::ColumnData;

/// Three repeats of a simulation; what its results are multiplied by.
fn simulated(name: &str, factor: f64) -> Run {
    let facts = Facts {
        name: name.to_owned(),
        clock: "virtual".to_owned(),
        settings: [("scenario".to_owned(), name.to_owned())].into(),
        warnings: vec![format!("{name} was stopped.")],
        verdict: Some(format!("Verdict on {name}.")),
        ..Facts::default()
    };
    let results = [
        ("all", "goodput_bps", 9e6 / factor),
        (HOSTILE, "rtt_p95_ms", 60.0 * factor),
        ("call", "mos", 4.0),
    ];
    let rows: Vec<_> = (0..3)
        .flat_map(|seed| results.map(|(subject, metric, value)| (seed, subject, metric, value)))
        .collect();
    let numbers = |of: fn(&(u64, &str, &str, f64)) -> u64| {
        ColumnData::U64(rows.iter().map(|row| Some(of(row))).collect())
    };
    let values = rows.iter().map(|row| Some(row.3 + row.0 as f64 / 8.0));
    let columns = [
        ("point", numbers(|_| 0)),
        ("seed", numbers(|row| row.0)),
        (
            "subject",
            ColumnData::Text(rows.iter().map(|row| Some(row.1)).collect()),
        ),
        (
            "metric",
            ColumnData::Text(rows.iter().map(|row| Some(row.2)).collect()),
        ),
        ("value", ColumnData::F64(values.collect())),
    ];
    let (names, data): (Vec<String>, Vec<ColumnData>) = columns
        .into_iter()
        .map(|(column, data)| (column.to_owned(), data))
        .unzip();
    let mut collector = Collector::new(facts, 0);
    collector.has_table("results");
    collector
        .add("results", &names, &data, rows.len())
        .expect("our own table");
    collector.finish()
}

pub fn comparison() -> Comparison {
    let within: Tolerance = "goodput >= -2 %".parse().expect("a tolerance");
    compare(
        &simulated("before", 1.0),
        &simulated(HOSTILE, 2.0),
        &[within],
    )
}
