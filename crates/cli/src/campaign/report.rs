//! The report of all finished runs: text, tables, one HTML file.

use super::args::Args;
use super::folder::Folder;
use super::{CommandError, text};
use crate::output::{OutputError, tell};
use crate::print;
use crate::terminal;
use serde_json::json;
use std::path::Path;
use unbloat_api::experiment;
use unbloat_api::folder::{input, write_report, write_tables};
use unbloat_campaign::{Campaign, Finding, Run, findings_table, table1};
use unbloat_run::{Clock, RunInfo, Status};
use unbloat_table::{Rows, Table};

pub fn make(args: &Args, campaign: &Campaign, folder: &Folder) -> Result<(), CommandError> {
    let (runs, foreign) = folder.runs(campaign)?;
    let found = table1(&runs);
    let all = tables(campaign, &found, &runs);
    let mut info = info(args, campaign, &runs);
    let shown = text::columns(campaign, &found);
    info.options.insert("shown".to_owned(), json!(shown));
    replace(&folder.report(), &info, &all)?;
    match args.print.of(&args.table) {
        Some(wanted) => wanted.print(&all)?,
        None => print::text(&text::text(
            campaign,
            &found,
            &runs,
            foreign,
            terminal::stdout().columns,
        ))?,
    }
    Ok(())
}

/// Replaces an older report. Not atomic: the report can be created again at any time.
fn replace(place: &Path, info: &RunInfo, all: &[(Table, Rows)]) -> Result<(), CommandError> {
    if place.exists() {
        std::fs::remove_dir_all(place).map_err(OutputError::Write)?;
    }
    let dir = write_tables(place, info, all)?;
    write_report(&dir).map_err(OutputError::from)?;
    tell(&dir);
    Ok(())
}

fn info(args: &Args, campaign: &Campaign, runs: &[Run]) -> RunInfo {
    let command = std::env::args().collect();
    let mut info = RunInfo::new("unbloat campaign", env!("CARGO_PKG_VERSION"), command);
    info.clock = Clock::Real;
    info.seed = Some(campaign.seed);
    info.inputs = vec![input(&args.campaign)];
    if runs.len() < campaign.runs() {
        info.status = Status::Interrupted;
    }
    let settings = campaign.settings.pairs().into_iter();
    info.options
        .extend(settings.map(|(name, value)| (name.to_owned(), json!(value))));
    info.options
        .insert("runs_finished".to_owned(), json!(runs.len()));
    info.options
        .insert("runs".to_owned(), json!(campaign.runs()));
    let mut notes: Vec<String> = runs.iter().flat_map(|run| run.notes.clone()).collect();
    notes.sort_unstable();
    notes.dedup();
    info.left_out = notes;
    info
}

/// The tables of a sweep, so that readers of sweeps can read campaigns, and a table of medians.
fn tables(campaign: &Campaign, found: &[Finding], runs: &[Run]) -> Vec<(Table, Rows)> {
    let cells = campaign.cells();
    let [averages, results, points] = [
        experiment::averages_table(),
        experiment::results_table(),
        experiment::points_table(),
    ];
    let mut rows = [&averages, &results, &points].map(Rows::new);
    let [of_averages, of_results, of_points] = &mut rows;
    for (finding, number) in found.iter().zip(0..) {
        let (mean, ci95) = experiment::mean_and_interval(&finding.values);
        let mut row = of_averages.row(experiment::order(number));
        row.u64(finding.cell as u64);
        row.text(&subject(&finding.load, &finding.subject)[..]);
        row.text(&finding.metric[..]);
        row.u64(finding.values.len() as u64);
        row.f64(mean);
        row.f64(ci95);
        row.f64(finding.least());
        row.f64(finding.most());
    }
    let readings = runs.iter().enumerate();
    let readings =
        readings.flat_map(|(index, run)| run.readings.iter().map(move |one| (index, run, one)));
    for ((index, run, reading), number) in readings.zip(0..) {
        let mut row = of_results.row(experiment::order(number));
        row.u64(index as u64);
        row.u64(run.cell as u64);
        row.u64(u64::from(run.repeat));
        row.u64(campaign.seed);
        row.text(&subject(&reading.load, &reading.subject)[..]);
        row.text(&reading.metric[..]);
        row.f64(reading.value);
    }
    for cell in &cells {
        let varied = cell
            .values
            .iter()
            .zip(&campaign.axes)
            .filter(|(_, axis)| axis.values.len() > 1);
        for ((key, value), _) in varied {
            let mut row = of_points.row(experiment::order(cell.index as u64));
            row.u64(cell.index as u64);
            row.text(&key[..]);
            row.text(&value[..]);
        }
    }
    let [mean_rows, run_rows, point_rows] = rows;
    vec![
        findings_table(&cells, found),
        (averages, mean_rows),
        (results, run_rows),
        (points, point_rows),
    ]
}

/// For example `up.call`: the call during upload load.
fn subject(load: &str, subject: &str) -> String {
    format!("{load}.{subject}")
}
