//! Where the tables go: standard output, and the run folder with its report.

use super::campaign::Campaign;
use super::input::Plan;
use super::{Args, SimError, text};
use crate::analyze::{REPORT, terminal_width};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::Path;
use unbloat_report::{RenderOptions, render};
use unbloat_run::format::{Bounds, FormatKind, TextWriter};
use unbloat_run::{Clock, Input, RunInfo, RunReader, RunWriter, Status, fresh_dir, link_latest};
use unbloat_table::{Rows, Table};

pub fn print(args: &Args, kind: FormatKind, all: &[(Table, Rows)]) -> Result<(), SimError> {
    let found = all.iter().find(|(table, _)| table.name == args.table);
    let (table, rows) = found.ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(table, _)| table.name).collect();
        SimError::NoTable {
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
    plan: &Plan,
    campaign: &Campaign,
    all: &[(Table, Rows)],
) -> Result<(), SimError> {
    let place = match &args.out {
        Some(dir) => dir.clone(),
        None => {
            let today = jiff::Timestamp::now().strftime("%Y-%m-%d");
            let stem = plan.file.file_stem().unwrap_or_default().to_string_lossy();
            fresh_dir(Path::new("runs"), &format!("{today}-sim-{stem}"))?
        }
    };
    let info = info(args, plan, campaign);
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

fn info(args: &Args, plan: &Plan, campaign: &Campaign) -> RunInfo {
    let mut info = RunInfo::new(
        "unbloat sim",
        env!("CARGO_PKG_VERSION"),
        std::env::args().collect(),
    );
    info.clock = Clock::Virtual;
    info.seed = campaign.runs.first().map(|run| run.seed);
    info.status = if campaign.is_cut {
        Status::Interrupted
    } else {
        Status::Complete
    };
    let files = std::iter::once(&plan.file).chain(&plan.traces);
    info.inputs = files
        .map(|path| Input {
            name: path.display().to_string(),
            size_bytes: path.metadata().ok().map(|meta| meta.len()),
        })
        .collect();
    info.options = BTreeMap::from([
        ("set".to_owned(), json!(args.set)),
        ("repeats".to_owned(), json!(plan.sweep.repeats)),
        ("points".to_owned(), json!(plan.sweep.points())),
    ]);
    if !plan.bounds.is_empty() {
        let score: Vec<_> = text::judgements(plan, campaign)
            .lines()
            .map(str::to_owned)
            .collect();
        info.options.insert("score".to_owned(), json!(score));
    }
    info
}
