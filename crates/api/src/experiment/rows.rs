//! The tables of a scenario's run.

use super::averages::{self, Average};
use super::campaign::Campaign;
use super::changes::{self, ChangeRow};
use super::plan::Plan;
use super::series;
use unbloat_table::{Row, Rows, Table, columns};

columns! {
    pub struct AverageRow<'a>: averages = "one row per point of a sweep and result, over its repeats" {
        point: usize = "number of the point, from 0; what it is stands in `points`",
        subject: String = "a flow by its name, flows that share one (download_*), a direction (down, up) or one of several hops (down.hop2), or the whole run (all)",
        metric: &'a str = "name of the result, with its unit",
        runs: u64 = "repeats that have the result",
        mean: f64 = "mean over them",
        ci95: Option<f64> = "half width of the 95 % confidence interval of the mean (Student's t); null for a single run",
        min: f64 = "minimum",
        max: f64 = "maximum",
    }

    pub struct ResultRow<'a>: results = "one row per run and result" {
        run: usize = "number of the run, from 0",
        point: usize = "number of the point of the sweep",
        repeat: u64 = "number of the repeat of the point",
        seed: u64 = "seed of the run",
        subject: String = "a flow by its name, flows that share one (download_*), a direction (down, up) or one of several hops (down.hop2), or the whole run (all)",
        metric: &'a str = "name of the result, with its unit",
        value: f64 = "the result",
    }

    pub struct PointRow: points = "one row per point of a sweep and key that it sets" {
        point: usize = "number of the point, from 0",
        key: String = "path of the key in the scenario",
        value: String = "value that it has at this point",
    }
}

/// The tables that every run of a scenario has.
pub fn tables() -> Vec<Table> {
    let all = [
        AverageRow::table(),
        ResultRow::table(),
        PointRow::table(),
        ChangeRow::table(),
    ];
    all.into_iter().chain(series::tables()).collect()
}

/// All tables with their rows.
pub fn all(plan: &Plan, campaign: &Campaign) -> Vec<(Table, Rows)> {
    let found = averages::averages(campaign);
    let mut all = vec![
        AverageRow::filled(found.iter().map(average_row)),
        ResultRow::filled(result_rows(campaign)),
        PointRow::filled(point_rows(plan)),
        ChangeRow::filled(changes::rows(&plan.sweep, &found)),
    ];
    all.extend(campaign.tables.iter().cloned());
    for table in series::tables() {
        if all.iter().all(|(known, _)| known.name != table.name) {
            let none = Rows::new(&table);
            all.push((table, none));
        }
    }
    all
}

fn average_row(average: &Average) -> AverageRow<'_> {
    AverageRow {
        point: average.point,
        subject: average.subject.clone(),
        metric: &average.metric,
        runs: average.runs,
        mean: average.mean,
        ci95: average.ci95,
        min: average.least,
        max: average.most,
    }
}

fn result_rows(campaign: &Campaign) -> impl Iterator<Item = ResultRow<'_>> {
    campaign.runs.iter().flat_map(|run| {
        run.results.iter().map(|result| ResultRow {
            run: run.index,
            point: run.point,
            repeat: run.repeat,
            seed: run.seed,
            subject: result.subject.clone(),
            metric: &result.metric,
            value: result.value,
        })
    })
}

fn point_rows(plan: &Plan) -> Vec<PointRow> {
    let mut rows = Vec::new();
    let points = (0..plan.sweep.points()).map(|index| plan.sweep.point(index));
    for point in points {
        rows.extend(point.values.iter().map(|(key, value)| PointRow {
            point: point.index,
            key: key.to_string(),
            value: value.to_string(),
        }));
    }
    rows
}
