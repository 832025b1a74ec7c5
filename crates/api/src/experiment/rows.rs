//! The tables of a scenario's run.

use super::averages::{self, Average};
use super::campaign::Campaign;
use super::plan::Plan;
use super::{changes, series};
use unbloat_table::{Column, Order, Rows, Table};

/// The tables that every run of a scenario has.
pub fn tables() -> Vec<Table> {
    let all = [
        averages_table(),
        results_table(),
        points_table(),
        changes::table(),
    ];
    all.into_iter().chain(series::tables()).collect()
}

/// Table `averages`.
pub fn averages_table() -> Table {
    Table {
        name: "averages",
        doc: "one row per point of a sweep and result, over its repeats",
        columns: vec![
            Column::u64(
                "point",
                "number of the point, from 0; what it is stands in `points`",
            ),
            Column::text(
                "subject",
                "a flow by its name, flows that share one (download_*), a direction (down, up) or one of several hops (down.hop2), or the whole run (all)",
            ),
            Column::text("metric", "name of the result, with its unit"),
            Column::u64("runs", "repeats that have the result"),
            Column::f64("mean", "mean over them"),
            Column::f64(
                "ci95",
                "half width of the 95 % confidence interval of the mean (Student's t); null for a single run",
            ),
            Column::f64("min", "minimum"),
            Column::f64("max", "maximum"),
        ],
    }
}

/// Table `results`.
pub fn results_table() -> Table {
    Table {
        name: "results",
        doc: "one row per run and result",
        columns: vec![
            Column::u64("run", "number of the run, from 0"),
            Column::u64("point", "number of the point of the sweep"),
            Column::u64("repeat", "number of the repeat of the point"),
            Column::u64("seed", "seed of the run"),
            Column::text(
                "subject",
                "a flow by its name, flows that share one (download_*), a direction (down, up) or one of several hops (down.hop2), or the whole run (all)",
            ),
            Column::text("metric", "name of the result, with its unit"),
            Column::f64("value", "the result"),
        ],
    }
}

/// Table `points`.
pub fn points_table() -> Table {
    Table {
        name: "points",
        doc: "one row per point of a sweep and key that it sets",
        columns: vec![
            Column::u64("point", "number of the point, from 0"),
            Column::text("key", "path of the key in the scenario"),
            Column::text("value", "value that it has at this point"),
        ],
    }
}

/// All tables with their rows.
pub fn all(plan: &Plan, campaign: &Campaign) -> Vec<(Table, Rows)> {
    let [averages, results, points] = [averages_table(), results_table(), points_table()];
    let found = averages::averages(campaign);
    let changes = changes::table();
    let rows = [
        averages_rows(&averages, &found),
        results_rows(&results, campaign),
        points_rows(&points, plan),
        changes::rows(&changes, &plan.sweep, &found),
    ];
    let mut all: Vec<_> = [averages, results, points, changes]
        .into_iter()
        .zip(rows)
        .collect();
    all.extend(campaign.tables.iter().cloned());
    for table in series::tables() {
        if all.iter().all(|(known, _)| known.name != table.name) {
            let none = Rows::new(&table);
            all.push((table, none));
        }
    }
    all
}

fn averages_rows(table: &Table, found: &[Average]) -> Rows {
    let mut rows = Rows::new(table);
    for (average, number) in found.iter().zip(0..) {
        let mut row = rows.row(order(number));
        row.u64(average.point as u64);
        row.text(average.subject.as_str());
        row.text(average.metric.as_str());
        row.u64(average.runs);
        row.f64(average.mean);
        row.f64(average.ci95);
        row.f64(average.least);
        row.f64(average.most);
    }
    rows
}

fn results_rows(table: &Table, campaign: &Campaign) -> Rows {
    let mut rows = Rows::new(table);
    let results = campaign
        .runs
        .iter()
        .flat_map(|run| run.results.iter().map(move |result| (run, result)));
    for ((run, result), number) in results.zip(0..) {
        let mut row = rows.row(order(number));
        row.u64(run.index as u64);
        row.u64(run.point as u64);
        row.u64(run.repeat);
        row.u64(run.seed);
        row.text(result.subject.as_str());
        row.text(result.metric.as_str());
        row.f64(result.value);
    }
    rows
}

fn points_rows(table: &Table, plan: &Plan) -> Rows {
    let mut rows = Rows::new(table);
    let points = (0..plan.sweep.points()).map(|index| plan.sweep.point(index));
    for point in points {
        for (key, value) in &point.values {
            let mut row = rows.row(order(point.index as u64));
            row.u64(point.index as u64);
            row.text(key.as_str());
            row.text(value.to_string().as_str());
        }
    }
    rows
}

/// Sort key of rows that keep the order in which they are written.
pub fn order(number: u64) -> Order {
    Order {
        written_at: number,
        subject: 0,
    }
}
