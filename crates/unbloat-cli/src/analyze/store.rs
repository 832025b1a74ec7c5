//! Where the rows go.

use super::{AnalyzeError, Args};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use unbloat_capture::Input;
use unbloat_pipeline::Outcome;
use unbloat_run::{RunInfo, RunWriter, Status, TraceStart, fresh_dir, link_latest};
use unbloat_trace::{Output, all_tables};

pub struct Store {
    run: Option<(RunWriter, RunInfo)>,
}

impl Store {
    pub fn open(args: &Args, inputs: &[Input]) -> Result<Store, AnalyzeError> {
        if args.no_run || args.format.is_some() && args.out.is_none() {
            return Ok(Store { run: None });
        }
        let dir = match &args.out {
            Some(dir) => dir.clone(),
            None => fresh_dir(Path::new("runs"), &stem(inputs))?,
        };
        let info = info(inputs);
        let writer = RunWriter::create(&dir, &info, &all_tables())?;
        Ok(Store { run: Some((writer, info)) })
    }

    pub fn take(&mut self, output: &Output) -> Result<(), AnalyzeError> {
        if let Some((writer, _)) = &mut self.run {
            for (i, rows) in output.tables().into_iter().enumerate() {
                if !rows.is_empty() {
                    writer.append(i, rows)?;
                }
            }
        }
        Ok(())
    }

    pub fn finish(self, outcome: &Outcome) -> Result<Option<PathBuf>, AnalyzeError> {
        let Some((writer, mut info)) = self.run else { return Ok(None) };
        complete(&mut info, outcome);
        let dir = writer.finish(&info)?;
        link_latest(&dir)?;
        eprintln!("unbloat: tables in {}", dir.display());
        Ok(Some(dir))
    }
}

/// Date and first input: `2026-11-21-capture`.
fn stem(inputs: &[Input]) -> String {
    let name = match inputs.first() {
        Some(Input::File(path)) => path.file_name().map(|n| n.to_string_lossy().into_owned()),
        _ => None,
    };
    let name = name.unwrap_or_else(|| "stdin".to_owned());
    let name = name.split('.').next().filter(|n| !n.is_empty()).unwrap_or("capture").to_owned();
    format!("{}-{name}", jiff::Timestamp::now().strftime("%Y-%m-%d"))
}

fn info(inputs: &[Input]) -> RunInfo {
    let mut info = RunInfo::new("unbloat analyze", env!("CARGO_PKG_VERSION"), std::env::args().collect());
    info.inputs = inputs.iter().map(described).collect();
    info
}

fn described(input: &Input) -> unbloat_run::Input {
    let size_bytes = match input {
        Input::File(path) => std::fs::metadata(path).ok().map(|m| m.len()),
        Input::Stdin => None,
    };
    unbloat_run::Input { name: input.to_string(), size_bytes }
}

fn complete(info: &mut RunInfo, outcome: &Outcome) {
    info.trace_start = outcome.origin.map(TraceStart);
    info.packets = outcome.packets;
    let skipped = outcome.skipped.iter().map(|(reason, n)| (reason.name().to_owned(), n));
    info.skipped = skipped.collect::<BTreeMap<_, _>>();
    info.damage = outcome.notes.damage.iter().map(ToString::to_string).collect();
    info.lost_packets = outcome.notes.kernel_drops.unwrap_or(0);
    info.evicted_flows = outcome.stats.evicted_flows;
    info.status = match outcome {
        _ if outcome.interrupted => Status::Interrupted,
        _ if !outcome.notes.damage.is_empty() => Status::Damaged,
        _ => Status::Complete,
    };
}
