//! `unbloat compare`: two runs side by side.

mod load;

pub use load::load;

use crate::folder::write_tables;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use unbloat_compare::{CompareError, Comparison, Tolerance, all_rows, compare};
use unbloat_html::{ReportError, comparison_headline, render_comparison};
use unbloat_os::files::{self, Replacement};
use unbloat_run::{Clock, Input, RunError, RunInfo};

/// The page in the folder of a comparison.
pub const PAGE: &str = "compare.html";
/// The JSON document in the folder of a comparison.
pub const DOCUMENT: &str = "compare.json";

/// Why two runs could not be compared, or their comparison not be written.
#[derive(Debug, thiserror::Error)]
pub enum SideBySideError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{run}: {error}", run = .run.display())]
    Compare { run: PathBuf, error: CompareError },
    #[error("{run}: cannot read the verdict in run.json: {error}; create the run again with this version", run = .run.display())]
    Verdict {
        run: PathBuf,
        error: serde_json::Error,
    },
    #[error("{run}: no table of this run can be compared; it has {tables}", run = .run.display())]
    Empty { run: PathBuf, tables: String },
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error("cannot write {path}: {source}", path = path.display())]
    Page { path: PathBuf, source: io::Error },
    #[error("cannot write the comparison: {0}")]
    Write(#[from] io::Error),
}

/// Two run folders and how far they may differ.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Folder of the reference run.
    pub a: PathBuf,
    /// Folder of the run to compare with it.
    pub b: PathBuf,
    /// Tolerances of B minus A.
    pub within: Vec<Tolerance>,
}

/// Compares two runs.
///
/// # Errors
/// A run cannot be read, or has nothing that can be compared.
pub fn side_by_side(pair: &Pair) -> Result<Comparison, SideBySideError> {
    let (a, b) = (load(&pair.a)?, load(&pair.b)?);
    Ok(compare(&a, &b, &pair.within))
}

/// Two runs side by side; docs/compare.md explains how differences are judged.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The result in one sentence.
    headline: String,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

impl<'a> Document<'a> {
    /// The document of a comparison.
    pub fn of(comparison: &'a Comparison) -> Document<'a> {
        Document {
            headline: comparison_headline(comparison),
            comparison,
        }
    }

    /// As a file has it.
    ///
    /// # Errors
    /// The document cannot be written as JSON.
    pub fn text(&self) -> Result<String, SideBySideError> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from)?;
        Ok(text + "\n")
    }
}

/// Writes a run folder with tables, page and document. Returns the folder.
///
/// # Errors
/// The folder exists or cannot be written.
pub fn write_folder(
    dir: &Path,
    pair: &Pair,
    comparison: &Comparison,
    command: Vec<String>,
) -> Result<PathBuf, SideBySideError> {
    let mut info = RunInfo::new("unbloat compare", env!("CARGO_PKG_VERSION"), command);
    info.clock = Clock::Virtual;
    info.inputs = [&pair.a, &pair.b]
        .map(|path| Input {
            name: path.display().to_string(),
            size_bytes: None,
        })
        .into();
    let within: Vec<String> = pair.within.iter().map(ToString::to_string).collect();
    info.options.insert("within".to_owned(), json!(within));
    let kind = json!(comparison.verdict.overall);
    info.conclude(
        kind.as_str().unwrap_or_default(),
        &comparison_headline(comparison),
    );
    let written = write_tables(dir, &info, &all_rows(comparison))?;
    let mut page = Replacement::of(&written.join(PAGE))?;
    render_comparison(comparison, &mut page)?;
    page.put()?;
    files::replace(&written.join(DOCUMENT), Document::of(comparison).text()?)?;
    Ok(written)
}

/// Writes the HTML page of a comparison.
///
/// # Errors
/// The file cannot be written.
pub fn write_page(path: &Path, comparison: &Comparison) -> Result<(), SideBySideError> {
    let failed = |source| SideBySideError::Page {
        path: path.to_owned(),
        source,
    };
    let mut page = BufWriter::new(files::create_named(path).map_err(failed)?);
    render_comparison(comparison, &mut page)?;
    page.flush().map_err(failed)
}
