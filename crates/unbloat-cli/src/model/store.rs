//! Where the tables go: standard output, and the run folder with its report.

use super::question::Question;
use super::{Args, ModelCommandError};
use crate::analyze::{REPORT, terminal_width};
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::Path;
use unbloat_report::{RenderOptions, render};
use unbloat_run::format::{Bounds, FormatKind, TextWriter};
use unbloat_run::{Clock, Input, RunInfo, RunReader, RunWriter, fresh_dir, link_latest};
use unbloat_table::{Rows, Table};

pub fn print(
    args: &Args,
    kind: FormatKind,
    all: &[(Table, Rows)],
) -> Result<(), ModelCommandError> {
    let found = all.iter().find(|(table, _)| table.name == args.table);
    let (table, rows) = found.ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(table, _)| table.name).collect();
        ModelCommandError::NoTable {
            name: args.table.clone(),
            known: known.join(", "),
        }
    })?;
    let bounds = Bounds {
        width: terminal_width(),
        rows: args.rows,
    };
    let mut writer = TextWriter::new(BufWriter::new(stdout()), kind, bounds);
    writer.begin(table)?;
    writer.append(rows.columns())?;
    writer.finish()?;
    Ok(())
}

pub fn write(
    args: &Args,
    question: &Question,
    all: &[(Table, Rows)],
) -> Result<(), ModelCommandError> {
    let place = match &args.out {
        Some(dir) => dir.clone(),
        None => {
            let today = jiff::Timestamp::now().strftime("%Y-%m-%d");
            fresh_dir(Path::new("runs"), &format!("{today}-model"))?
        }
    };
    let info = info(args, question);
    let tables: Vec<Table> = all.iter().map(|(table, _)| table.clone()).collect();
    let mut writer = RunWriter::create(&place, &info, &tables)?;
    for (index, (_, rows)) in all.iter().enumerate() {
        writer.append(index, rows)?;
    }
    let dir = writer.finish(&info)?;
    let options = RenderOptions {
        run_name: dir.display().to_string(),
        ..RenderOptions::default()
    };
    let mut out = BufWriter::new(File::create(dir.join(REPORT))?);
    render(&RunReader::open(&dir)?, &mut out, &options)?;
    out.flush()?;
    link_latest(&dir)?;
    eprintln!("report  {}", dir.join(REPORT).display());
    eprintln!("tables  {}", dir.display());
    Ok(())
}

fn info(args: &Args, question: &Question) -> RunInfo {
    let command = std::env::args().collect();
    let mut info = RunInfo::new("unbloat model", env!("CARGO_PKG_VERSION"), command);
    info.clock = Clock::Virtual;
    info.options = question.options(args);
    info.inputs = args
        .measured
        .iter()
        .map(|path| Input {
            name: path.display().to_string(),
            size_bytes: path.metadata().ok().map(|m| m.len()),
        })
        .collect();
    info
}
