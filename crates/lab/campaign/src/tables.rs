//! Medians and spread as a table of a run.

use crate::cell::Cell;
use crate::finding::Finding;
use unbloat_table::{Row, Rows, Table, columns};

columns! {
    pub struct CampaignRow<'a>: campaign = "one row per combination, load and number: its median and spread over repeats" {
        point: usize = "number of the combination, from 0; what it is stands in `points`",
        cell: &'a str = "its name: what the names of its runs begin with",
        title: String = "its labels and settings, name=value",
        load: &'a str = "what loaded the path: idle, down, up or both",
        subject: &'a str = "a direction, an application by its name, or all",
        metric: &'a str = "which number, with its unit as suffix",
        runs: usize = "repeats that have it",
        median: f64 = "median over repeats, in the metric's unit",
        deviation: Option<f64> = "standard deviation over repeats; null of a single one",
        min: f64 = "least of all repeats",
        max: f64 = "greatest of all repeats",
    }
}

/// `campaign`, with its rows.
pub fn findings_table(cells: &[Cell], found: &[Finding]) -> (Table, Rows) {
    CampaignRow::filled(found.iter().map(|finding| {
        let cell = &cells[finding.cell];
        CampaignRow {
            point: cell.index,
            cell: &cell.id,
            title: cell.title(),
            load: &finding.load,
            subject: &finding.subject,
            metric: &finding.metric,
            runs: finding.values.len(),
            median: finding.median(),
            deviation: finding.deviation(),
            min: finding.least(),
            max: finding.most(),
        }
    }))
}
