//! Run folders with a report.

use std::path::{Path, PathBuf};
use unbloat_html::{RenderOptions, ReportError, outcome_headline, render};
use unbloat_os::files::Replacement;
use unbloat_run::{
    Input, RunError, RunInfo, RunReader, RunWriter, fresh_dir, link_latest, runs_dir,
};
use unbloat_table::{Rows, Table};

/// The name of the report in a run's folder.
pub const REPORT: &str = "report.html";

/// Why a run's folder could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error("cannot write the output: {0}")]
    Write(#[from] std::io::Error),
}

/// Where a run is written, and by which command.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Folder of the run, which must not exist; without it, an unused name in [`runs_dir`].
    pub out: Option<PathBuf>,
    /// The command line, one argument each, for `run.json`.
    pub command: Vec<String>,
    /// Publish it: see [`publish`].
    pub is_published: bool,
}

/// The folder for a run: `out`, or `DATE-STEM` in [`runs_dir`].
///
/// # Errors
/// No folder can be created in [`runs_dir`].
pub fn run_dir(out: Option<&Path>, stem: &str) -> Result<PathBuf, RunError> {
    if let Some(dir) = out {
        return Ok(dir.to_owned());
    }
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d");
    fresh_dir(&runs_dir(), &format!("{today}-{stem}"))
}

/// Writes complete tables as a run without a report. Returns the folder. Where `info` has no verdict, the delays in results of an
/// experiment or of a campaign give one.
///
/// # Errors
/// The folder exists or cannot be written.
pub fn write_tables(
    place: &Path,
    info: &RunInfo,
    all: &[(Table, Rows)],
) -> Result<PathBuf, RunError> {
    let tables: Vec<Table> = all.iter().map(|(table, _)| table.clone()).collect();
    let mut writer = RunWriter::create(place, info, &tables)?;
    for (index, (_, rows)) in all.iter().enumerate() {
        writer.append(index, rows)?;
    }
    let mut info = info.clone();
    if info.verdict.is_null()
        && let Some((kind, headline)) = outcome_headline(&info, all)?
    {
        info.conclude(kind, &headline);
    }
    writer.finish(&info)
}

/// Draws the report of a finished run into its folder.
///
/// # Errors
/// The run cannot be read, or the report cannot be written.
pub fn write_report(dir: &Path) -> Result<(), FolderError> {
    report_on(&RunReader::open(dir)?)
}

fn report_on(run: &RunReader) -> Result<(), FolderError> {
    let dir = run.dir();
    let mut out = Replacement::of(&dir.join(REPORT))?;
    let options = RenderOptions {
        run_name: dir.display().to_string(),
        ..RenderOptions::default()
    };
    render(run, &mut out, &options)?;
    Ok(out.put()?)
}

/// Draws the report of a finished run. If the run is in [`runs_dir`], it is `latest` now.
///
/// # Errors
/// As [`write_report`], or the link cannot be set.
pub fn publish(dir: &Path) -> Result<(), FolderError> {
    publish_run(&RunReader::open(dir)?)
}

/// As [`publish`], of a run that is open.
///
/// # Errors
/// As [`publish`].
pub fn publish_run(run: &RunReader) -> Result<(), FolderError> {
    report_on(run)?;
    Ok(mark_latest(run.dir())?)
}

/// Points the link `latest` of [`runs_dir`] to a finished run that is there.
///
/// # Errors
/// The link cannot be set.
pub fn mark_latest(dir: &Path) -> Result<(), RunError> {
    match dir.parent() == Some(&runs_dir()) {
        true => link_latest(dir),
        // Where the user said; nothing but the run is put there.
        false => Ok(()),
    }
}

/// An input file of a run.
pub fn input(path: &Path) -> Input {
    Input {
        name: path.display().to_string(),
        size_bytes: path.metadata().ok().map(|meta| meta.len()),
    }
}
