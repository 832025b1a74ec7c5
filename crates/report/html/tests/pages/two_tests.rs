//! A made-up comparison of two tests.

use unbloat_compare::{Collector, Comparison, Facts, Run, compare};
use unbloat_table::ColumnData;

/// Two tests: one that waits long for uploads, and one that does not and was idle for less long.
pub fn comparison() -> Comparison {
    compare(&tested("before", 5, 500.0), &tested("after", 2, 10.0), &[])
}

/// Ten seconds of each load; `up_ms` is what uploads add.
fn tested(name: &str, idle_s: i64, up_ms: f64) -> Run {
    let facts = Facts {
        name: name.to_owned(),
        clock: "real".to_owned(),
        ..Facts::default()
    };
    let mut collector = Collector::new(facts, 0);
    let ends = [idle_s, idle_s + 10, idle_s + 20];
    let begins = [0, idle_s, idle_s + 10];
    let seconds = |values: [i64; 3]| times(values.into_iter().map(|at| at * 1_000_000_000));
    let stages = [
        ("stage", numbers(0..3)),
        ("load", texts(["idle", "down", "up"])),
        ("begin_ns", seconds(begins)),
        ("judged_from_ns", seconds(begins)),
        ("end_ns", seconds(ends)),
    ];
    add(&mut collector, "stages", 3, stages);
    let all: Vec<i64> = (0..ends[2] * 100).collect();
    let stage = |at: i64| ends.iter().filter(|end| at >= **end * 100).count();
    let times_of = |at: &[i64]| times(at.iter().map(|at| at * 10_000_000));
    let stages_of = |at: &[i64]| numbers(at.iter().map(|at| stage(*at) as u64));
    let added = |of: usize, most: f64| {
        let added = all.iter().map(|at| {
            let base = if stage(*at) == of { most } else { 1.0 };
            Some(base + (at % 7) as f64 / 10.0)
        });
        ColumnData::F64(added.collect())
    };
    let echoes = [
        ("time_ns", times_of(&all)),
        ("stage", stages_of(&all)),
        ("fate", texts(all.iter().map(|_| "back"))),
        ("added_down_ms", added(1, 3.0)),
        ("added_up_ms", added(2, up_ms)),
    ];
    add(&mut collector, "echoes", all.len(), echoes);
    let loaded: Vec<i64> = all.iter().copied().filter(|at| stage(*at) > 0).collect();
    let sides = loaded.iter().map(|at| ["", "down", "up"][stage(*at)]);
    let rates = loaded.iter().map(|at| Some([0.0, 20e6, 5e6][stage(*at)]));
    let goodput = [
        ("time_ns", times_of(&loaded)),
        ("stage", stages_of(&loaded)),
        ("direction", texts(sides)),
        ("delivered_bps", ColumnData::F64(rates.collect())),
    ];
    add(&mut collector, "goodput_series", loaded.len(), goodput);
    collector.finish()
}

fn numbers(values: impl IntoIterator<Item = u64>) -> ColumnData {
    ColumnData::U64(values.into_iter().map(Some).collect())
}

fn times(values: impl IntoIterator<Item = i64>) -> ColumnData {
    ColumnData::I64(values.into_iter().map(Some).collect())
}

fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> ColumnData {
    ColumnData::Text(values.into_iter().map(Some).collect())
}

fn add<const N: usize>(
    to: &mut Collector,
    table: &str,
    rows: usize,
    columns: [(&str, ColumnData); N],
) {
    let (names, data): (Vec<String>, Vec<ColumnData>) = columns
        .into_iter()
        .map(|(column, data)| (column.to_owned(), data))
        .unzip();
    to.add(table, &names, &data, rows).expect("our own table");
}
