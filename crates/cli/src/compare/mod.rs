//! `unbloat compare`: compares two runs.

mod args;
mod load;

pub use args::Args;

use crate::exit::Exit;
use crate::output::{OutputError, Wanted, terminal_width, write_tables};
use crate::print::{self, PrintError, note, out};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use unbloat_compare::{CompareError, Comparison, Overall, all_rows, compare};
use unbloat_html::{ReportError, comparison_headline, comparison_text, render_comparison};
use unbloat_run::{Clock, Input, RunError, RunInfo};

/// Files written in addition to the tables.
const PAGE: &str = "compare.html";
const DOCUMENT: &str = "compare.json";

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
    Output(#[from] OutputError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error("cannot write {path}: {source}", path = path.display())]
    Page {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("cannot write the comparison: {0}")]
    Write(#[from] std::io::Error),
}

pub fn run(args: &Args) -> Result<Exit, SideBySideError> {
    let (a, b) = (load::load(&args.a)?, load::load(&args.b)?);
    let comparison = compare(&a, &b, &args.within);
    print(args, &comparison)?;
    if let Some(file) = &args.output {
        write_page(file, &comparison)?;
    }
    if let Some(dir) = &args.out {
        write_folder(args, dir, &comparison)?;
    }
    Ok(match () {
        () if comparison.verdict.overall == Overall::NothingInCommon => Exit::Failed,
        () if comparison.judgements.iter().all(|one| one.holds) => Exit::Complete,
        () => Exit::OutOfBounds,
    })
}

fn print(args: &Args, comparison: &Comparison) -> Result<(), SideBySideError> {
    let mut out = BufWriter::new(out());
    match args.format {
        None if args.json => out.write_all(document(comparison)?.as_bytes())?,
        None => {
            let text = comparison_text(comparison, terminal_width(), args.rows);
            out.write_all(text.as_bytes())?;
        }
        Some(kind) => {
            let wanted = Wanted {
                table: &args.table,
                kind,
                rows: args.rows,
            };
            wanted.print(&all_rows(comparison))?;
        }
    }
    Ok(out.flush()?)
}

/// Two runs side by side; docs/compare.md explains how differences are judged.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The result in one sentence.
    headline: String,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

fn document(comparison: &Comparison) -> Result<String, SideBySideError> {
    let document = Document {
        headline: comparison_headline(comparison),
        comparison,
    };
    Ok(print::document(&document)?)
}

/// Writes a run folder with tables, page and document.
fn write_folder(args: &Args, dir: &Path, comparison: &Comparison) -> Result<(), SideBySideError> {
    let mut info = RunInfo::new(
        "unbloat compare",
        env!("CARGO_PKG_VERSION"),
        std::env::args().collect(),
    );
    info.clock = Clock::Virtual;
    info.inputs = [&args.a, &args.b]
        .map(|path| Input {
            name: path.display().to_string(),
            size_bytes: None,
        })
        .into();
    let within: Vec<String> = args.within.iter().map(ToString::to_string).collect();
    info.options.insert("within".to_owned(), json!(within));
    let written = write_tables(dir, &info, &all_rows(comparison))?;
    write_page(&written.join(PAGE), comparison)?;
    std::fs::write(written.join(DOCUMENT), document(comparison)?)?;
    note!("tables  {}", written.display());
    Ok(())
}

fn write_page(path: &Path, comparison: &Comparison) -> Result<(), SideBySideError> {
    let failed = |source| SideBySideError::Page {
        path: path.to_owned(),
        source,
    };
    let mut page = BufWriter::new(File::create(path).map_err(failed)?);
    render_comparison(comparison, &mut page)?;
    page.flush().map_err(failed)?;
    note!("page    {}", path.display());
    Ok(())
}
