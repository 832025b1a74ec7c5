//! A reader's own run or capture, laid over the figures.

use super::results;
use crate::confine::apart;
use crate::exit::Failure;
use crate::{analyze, lab, schema};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use unbloat_paper::{Drawn, Evidence, EvidencePoint, Figure, Made, Paper, lay_over as draw_over};
use unbloat_run::RunReader;

/// Reads what a run, a campaign or a capture has for these figures; a capture is analysed. An error if it fits none of them.
pub fn read(path: &Path, figures: &[(&Paper, &Figure)]) -> Result<Evidence, Failure> {
    let folder = tempfile::tempdir().map_err(|error| analyze_fault(path, &error))?;
    let run = match path.is_dir() {
        true => run_of(path),
        false => analysed(path, folder.path().join("run"))?,
    };
    let tables = figures.iter().flat_map(|(_, figure)| figure.own_tables());
    let tables = tables.collect();
    let (has, own) = apart(&run, || {
        let reader = RunReader::open(&run)?;
        let own = evidence(&reader, &tables)
            .map_err(|message| format!("{path}: {message}", path = run.display()))?;
        Ok::<_, Failure>((names(&reader), own))
    })?;
    let mut panels = figures.iter().flat_map(|(_, figure)| &figure.panels);
    match panels.any(|panel| draw_over(panel, &own, &mut Drawn::default()) > 0) {
        true => Ok(own),
        false => Err(format!(
            "{path}: no figure here can show it. It has {has}. {fits}",
            path = path.display(),
            fits = fits(figures)
        )
        .into()),
    }
}

/// Draws it into the panels that have a place for it.
pub fn lay_over(own: &Evidence, made: &mut [Made]) {
    for one in made {
        for (panel, curves) in one.figure.panels.iter().zip(&mut one.drawn) {
            draw_over(panel, own, curves);
        }
    }
}

/// The folder of a campaign holds its run beside those that it is made of.
fn run_of(folder: &Path) -> PathBuf {
    let report = folder.join("report");
    match report.is_dir() {
        true => report,
        false => folder.to_owned(),
    }
}

/// The points of a sweep or of a campaign with their results; tables are those of the first.
fn evidence(reader: &RunReader, wanted: &BTreeSet<&str>) -> Result<Evidence, String> {
    let mut tables = Vec::new();
    let mut runs = BTreeMap::new();
    let mut values = BTreeMap::new();
    for table in schema::tables() {
        let is_sweep = matches!(table.name, "results" | "points");
        if !(is_sweep || wanted.contains(table.name)) || reader.table(table.name).is_err() {
            continue;
        }
        let rows = lab::rows(reader, &table)?;
        match table.name {
            "results" => runs = results::by_run(&table, &rows),
            "points" => values = results::points(&table, &rows),
            _ => tables.push((table, rows)),
        }
    }
    let mut points: BTreeMap<usize, EvidencePoint> = BTreeMap::new();
    points.entry(0).or_default().tables = tables;
    for ((number, _), found) in runs {
        let point = points.entry(number).or_default();
        point.values = values.get(&number).cloned().unwrap_or_default();
        let named = found.into_iter();
        let named = named.map(|one| (format!("{}.{}", one.subject, one.metric), one.value));
        point.runs.push(named.collect());
    }
    Ok(Evidence {
        points: points.into_values().collect(),
        notes: Vec::new(),
    })
}

/// Which of the figures take data of one's own, and which.
fn fits(figures: &[(&Paper, &Figure)]) -> String {
    let takes = figures.iter().filter_map(|(paper, figure)| {
        let needs: Vec<String> = figure.own_needs().into_iter().collect();
        let name = format!("{} {}", paper.id, figure.id);
        (!needs.is_empty()).then(|| format!("\n  {name}: {}", needs.join(", or ")))
    });
    let takes: String = takes.collect();
    match takes.as_str() {
        "" => {
            "None of these figures takes data of your own; `unbloat paper list` marks those that do"
                .to_owned()
        }
        _ => format!(
            "These figures show the following, which docs/papers.md says how to get:{takes}"
        ),
    }
}

/// Its tables with their lengths: an empty one shows nothing.
fn names(reader: &RunReader) -> String {
    let tables = reader.tables().iter();
    let named = tables.map(|one| format!("{} ({} rows)", one.schema.name, one.rows));
    named.collect::<Vec<_>>().join(", ")
}

/// Returns the run folder. What precedes the damage of a capture is enough.
fn analysed(capture: &Path, out: PathBuf) -> Result<PathBuf, Failure> {
    let ended = analyze::as_process(capture, &out);
    let ended = ended.map_err(|error| analyze_fault(capture, &error))?;
    match out.is_dir() {
        true => Ok(out),
        false => Err(analyze_fault(
            capture,
            &String::from_utf8_lossy(&ended.stderr).trim(),
        )),
    }
}

fn analyze_fault(path: &Path, message: &dyn std::fmt::Display) -> Failure {
    format!("cannot analyse {}: {message}", path.display()).into()
}
