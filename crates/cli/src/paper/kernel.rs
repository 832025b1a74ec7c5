//! Runs scenarios with the kernel's TCP, each as its own `unbloat lab run`.

use super::PaperCommandError;
use super::args::{Args, Clock};
use super::results;
use super::work::{Done, Planned, add};
use crate::experiment::{self, Came};
use crate::lab;
use crate::print::note;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_experiment::outcome::RunResult;
use unbloat_paper::Evidence;
use unbloat_run::RunReader;
use unbloat_table::{Rows, Table};

pub fn run(
    plans: &[Planned],
    args: &Args,
    stop: &AtomicBool,
    done: &mut Done,
) -> Result<(), PaperCommandError> {
    let folder = tempfile::tempdir().map_err(|error| fault(&error))?;
    for (planned, number) in plans.iter().zip(1..) {
        if stop.load(Ordering::Relaxed) {
            done.is_cut = true;
            return Ok(());
        }
        if !args.quiet {
            note!("{number}/{}  {}", plans.len(), planned.plan.file.display());
        }
        let work = folder.path().join(number.to_string());
        std::fs::create_dir(&work).map_err(|error| fault(&error))?;
        let evidence = evidence(planned, args, &work)?;
        done.evidence.insert(planned.request.clone(), evidence);
    }
    Ok(())
}

/// Points whose series are drawn run one by one: one repeat of each is enough.
fn evidence(planned: &Planned, args: &Args, work: &Path) -> Result<Evidence, PaperCommandError> {
    let mut evidence = Evidence::default();
    let points = planned.plan.points.len();
    if !planned.request.needs_tables {
        let mut came = came(planned, args, &[], work)?;
        for point in 0..points {
            add(
                &mut evidence,
                planned,
                point,
                came.remove(&point).unwrap_or_default(),
            );
        }
        return Ok(evidence);
    }
    for point in 0..points {
        let values = planned.plan.sweep.point(point).values.into_iter();
        let values: Vec<String> = values
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let work = work.join(point.to_string());
        std::fs::create_dir(&work).map_err(|error| fault(&error))?;
        let came = came(planned, args, &values, &work)?;
        add(
            &mut evidence,
            planned,
            point,
            came.into_values().flatten().collect(),
        );
    }
    Ok(evidence)
}

/// By point, what each repeat gave.
fn came(
    planned: &Planned,
    args: &Args,
    set: &[String],
    work: &Path,
) -> Result<BTreeMap<usize, Vec<Came>>, PaperCommandError> {
    let (scenario, out) = (work.join("scenario.toml"), work.join("run"));
    std::fs::write(&scenario, &planned.text).map_err(|error| fault(&error))?;
    let program = std::env::current_exe().map_err(|error| fault(&error))?;
    let mut command = Command::new(program);
    command.args(["lab", "run", "--quiet"]).arg(&scenario);
    command.arg("--out").arg(&out);
    if args.clock == Clock::Virtual {
        command.arg("--virtual");
    }
    for assignment in planned.set.iter().chain(set) {
        command.arg("--set").arg(assignment);
    }
    if !planned.request.needs_tables {
        command.arg("--repeats").arg(planned.repeats().to_string());
    }
    if let Some(seed) = args.seed {
        command.arg("--seed").arg(seed.to_string());
    }
    let ended = command.stdout(Stdio::null()).output();
    let ended = ended.map_err(|error| fault(&error))?;
    if !out.is_dir() {
        let said = String::from_utf8_lossy(&ended.stderr);
        return Err(PaperCommandError::Kernel(format!(
            "{}: {}",
            planned.plan.file.display(),
            said.trim().trim_start_matches("unbloat: ")
        )));
    }
    read(&out).map_err(|error| fault(&error))
}

fn read(folder: &Path) -> Result<BTreeMap<usize, Vec<Came>>, String> {
    let reader = RunReader::open(folder).map_err(|error| error.to_string())?;
    let notes = reader.info().left_out.clone();
    let known = experiment::tables().into_iter().chain(lab::tables());
    let mut series: Vec<(Table, Rows)> = Vec::new();
    let mut runs: BTreeMap<(usize, u64), Vec<RunResult>> = BTreeMap::new();
    for table in known {
        let is_there = |one: &unbloat_run::StoredTable| one.schema.name == table.name;
        if !reader.tables().iter().any(is_there) {
            continue;
        }
        let rows = lab::rows(&reader, &table)?;
        if table.name == "results" {
            runs = results::by_run(&table, &rows);
        } else if table.name.ends_with("_series") {
            series.push((table, rows));
        }
    }
    let mut points: BTreeMap<usize, Vec<Came>> = BTreeMap::new();
    for ((point, _), named) in runs {
        points.entry(point).or_default().push(Came {
            results: named,
            notes: notes.clone(),
            tables: series.clone(),
            facts: Vec::new(),
            is_cut: false,
        });
    }
    Ok(points)
}

fn fault(error: &dyn std::fmt::Display) -> PaperCommandError {
    PaperCommandError::Kernel(error.to_string())
}
