//! The report of all finished runs: text, tables, one HTML file.

use super::args::Args;
use super::folder::Folder;
use super::text;
use crate::confine::apart;
use crate::exit::Failure;
use crate::output::tell;
use crate::print;
use crate::terminal;
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use unbloat_api::experiment::{self, AverageRow, PointRow, ResultRow};
use unbloat_api::folder::{REPORT, input, write_report, write_tables};
use unbloat_campaign::{Campaign, Finding, Run, findings_table, table1};
use unbloat_run::{Clock, RUN_FILE, RunInfo, RunReader, Status};
use unbloat_table::{Row, Rows, Table};

/// In the run.json of a report.
const PROGRAM: &str = "unbloat campaign";

pub fn make(args: &Args, campaign: &Campaign, folder: &Folder) -> Result<(), Failure> {
    let (runs, foreign) = apart(&folder.cells(), || folder.runs(campaign))?;
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

/// Removes the files of an older report, if that is all that is there.
fn remove_older(place: &Path) -> Result<(), Failure> {
    let foreign = |path: &Path| -> Failure {
        format!(
            "{} is not what a report of a campaign consists of; move it away, or give another --out",
            path.display()
        )
        .into()
    };
    match fs::symlink_metadata(place) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found if found.as_ref().is_ok_and(fs::Metadata::is_dir) => {}
        _ => return Err(foreign(place)),
    }
    let entries = fs::read_dir(place).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| format!("cannot write the output: {error}"))?;
    if entries.is_empty() {
        return Ok(());
    }
    let older = RunReader::open(place).map_err(|_| foreign(place))?;
    let tables = older.tables().iter().map(|table| table.file.as_str());
    let names: Vec<&str> = tables.chain([RUN_FILE, REPORT]).collect();
    for entry in &entries {
        let name = entry.file_name();
        let is_named = names.iter().any(|known| *known == name);
        if older.info().program != PROGRAM || !is_named {
            return Err(foreign(&entry.path()));
        }
    }
    for entry in &entries {
        fs::remove_file(entry.path())
            .map_err(|error| format!("cannot write the output: {error}"))?;
    }
    Ok(())
}

/// Replaces an older report. Not atomic: the report can be created again at any time.
fn replace(place: &Path, info: &RunInfo, all: &[(Table, Rows)]) -> Result<(), Failure> {
    remove_older(place)?;
    let dir = write_tables(place, info, all)?;
    write_report(&dir)?;
    tell(&dir);
    Ok(())
}

fn info(args: &Args, campaign: &Campaign, runs: &[Run]) -> RunInfo {
    let command = std::env::args().collect();
    let mut info = RunInfo::new(PROGRAM, env!("CARGO_PKG_VERSION"), command);
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
    let averages = found.iter().map(|finding| {
        let (mean, ci95) = experiment::mean_and_interval(&finding.values);
        AverageRow {
            point: finding.cell,
            subject: subject(&finding.load, &finding.subject),
            metric: &finding.metric,
            runs: finding.values.len() as u64,
            mean,
            ci95,
            min: finding.least(),
            max: finding.most(),
        }
    });
    let results = runs.iter().enumerate().flat_map(|(index, run)| {
        run.readings.iter().map(move |reading| ResultRow {
            run: index,
            point: run.cell,
            repeat: u64::from(run.repeat),
            seed: campaign.seed,
            subject: subject(&reading.load, &reading.subject),
            metric: &reading.metric,
            value: reading.value,
        })
    });
    let points = cells.iter().flat_map(|cell| {
        let values = cell.values.iter().zip(&campaign.axes);
        let varied = values.filter(|(_, axis)| axis.values.len() > 1);
        varied.map(|((key, value), _)| PointRow {
            point: cell.index,
            key: key.to_string(),
            value: value.to_string(),
        })
    });
    vec![
        findings_table(&cells, found),
        AverageRow::filled(averages),
        ResultRow::filled(results),
        PointRow::filled(points),
    ]
}

/// For example `up.call`: the call during upload load.
fn subject(load: &str, subject: &str) -> String {
    format!("{load}.{subject}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_our_own_report_is_replaced() {
        let base = tempfile::tempdir().unwrap();
        let place = base.path().join("report");
        let info = RunInfo::new(PROGRAM, "0", Vec::new());
        let write = |of: &RunInfo| replace(&place, of, &[]);
        write(&info).unwrap();
        write(&info).unwrap();
        // What somebody put into it keeps all of it.
        let notes = place.join("thesis.txt");
        fs::write(&notes, "years").unwrap();
        let refused = write(&info).unwrap_err().to_string();
        assert!(refused.contains("thesis.txt"), "{refused}");
        assert!(place.join(RUN_FILE).exists());
        fs::remove_file(place.join(RUN_FILE)).unwrap();
        assert!(write(&info).is_err());
        assert_eq!(fs::read(&notes).unwrap(), b"years");
        // A run of another command, and a link.
        fs::remove_dir_all(&place).unwrap();
        write(&RunInfo::new("unbloat test", "0", Vec::new())).unwrap();
        assert!(write(&info).is_err());
        fs::rename(&place, base.path().join("elsewhere")).unwrap();
        symlink("elsewhere", &place).unwrap();
        assert!(write(&info).is_err());
        assert!(base.path().join("elsewhere").join(RUN_FILE).exists());
    }
}
