//! A reader's own run or capture, laid over the figures.

use crate::{analyze, lab, schema};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use unbloat_paper::{Evidence, EvidencePoint, Made, lay_over as draw_over};
use unbloat_run::{RunError, RunReader};

#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("cannot analyse {path}: {message}", path = path.display())]
    Analyze { path: PathBuf, message: String },
    #[error("{path}: {message}", path = path.display())]
    Table { path: PathBuf, message: String },
    #[error(
        "{path}: no figure here has a place for its tables ({tables}); `unbloat paper list` shows what takes your own data",
        path = path.display()
    )]
    NoPlace { path: PathBuf, tables: String },
}

/// Draws what a run has into the panels that have a place for it. A capture is analysed first.
pub fn lay_over(path: &Path, made: &mut [Made]) -> Result<(), OwnError> {
    let folder = tempfile::tempdir().map_err(|error| analyze_fault(path, &error))?;
    let run = match path.is_dir() {
        true => path.to_owned(),
        false => analysed(path, folder.path().join("run"))?,
    };
    let reader = RunReader::open(&run)?;
    let panels = made.iter().flat_map(|one| &one.figure.panels);
    let wanted: BTreeSet<&str> = panels
        .flat_map(|panel| panel.own.iter().filter_map(|own| own.table.as_deref()))
        .collect();
    let mut point = EvidencePoint::default();
    for table in schema::tables() {
        if !wanted.contains(table.name) || reader.table(table.name).is_err() {
            continue;
        }
        let rows = lab::rows(&reader, &table).map_err(|message| OwnError::Table {
            path: run.clone(),
            message,
        })?;
        point.tables.push((table, rows));
    }
    let own = Evidence {
        points: vec![point],
        notes: Vec::new(),
    };
    let mut drawn = 0;
    for one in made {
        for (panel, curves) in one.figure.panels.iter().zip(&mut one.drawn) {
            drawn += draw_over(panel, &own, curves);
        }
    }
    match drawn {
        0 => Err(OwnError::NoPlace {
            path: path.to_owned(),
            tables: names(&reader),
        }),
        _ => Ok(()),
    }
}

fn names(reader: &RunReader) -> String {
    let names = reader.tables().iter().map(|one| one.schema.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the run folder. What precedes the damage of a capture is enough.
fn analysed(capture: &Path, out: PathBuf) -> Result<PathBuf, OwnError> {
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

fn analyze_fault(path: &Path, message: &dyn std::fmt::Display) -> OwnError {
    OwnError::Analyze {
        path: path.to_owned(),
        message: message.to_string(),
    }
}
