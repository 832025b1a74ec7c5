//! `unbloat compare`: compares two runs.

mod args;
mod load;

pub use args::Args;

use crate::exit::Exit;
use crate::output::{OutputError, Wanted, terminal_width, write_tables};
use crate::print::{note, out};
use args::Format;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use unbloat_compare::{CompareError, Comparison, Overall, all_rows, compare};
use unbloat_report::{ReportError, comparison_headline, comparison_text, render_comparison};
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
    #[error("cannot write the comparison: {0}")]
    Write(#[from] std::io::Error),
}

pub fn run(args: &Args) -> Result<Exit, SideBySideError> {
    let (a, b) = (load::load(&args.a)?, load::load(&args.b)?);
    let comparison = compare(&a, &b, &args.within);
    print(args, &comparison)?;
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
        None => {
            let text = comparison_text(comparison, terminal_width(), args.rows);
            out.write_all(text.as_bytes())?;
        }
        Some(Format::Html) => render_comparison(comparison, &mut out)?,
        Some(Format::Json) => writeln!(out, "{:#}", document(comparison)?)?,
        Some(Format::Rows(kind)) => {
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

/// The comparison as one JSON object; see docs/compare.md.
fn document(comparison: &Comparison) -> Result<Value, SideBySideError> {
    let mut document = json!({ "headline": comparison_headline(comparison) });
    let rest = serde_json::to_value(comparison).map_err(std::io::Error::from)?;
    if let (Some(all), Value::Object(rest)) = (document.as_object_mut(), rest) {
        all.extend(rest);
    }
    Ok(document)
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
    let mut page = BufWriter::new(File::create(written.join(PAGE))?);
    render_comparison(comparison, &mut page)?;
    page.flush()?;
    std::fs::write(
        written.join(DOCUMENT),
        format!("{:#}\n", document(comparison)?),
    )?;
    note!("page    {}", written.join(PAGE).display());
    note!("tables  {}", written.display());
    Ok(())
}
