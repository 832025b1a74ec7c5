//! Where the rows go: the run folder, the summary, and standard output.

use super::{AnalyzeError, Args};
use crate::output::{Wanted, run_dir, write_report};
use crate::print::Out;
use std::collections::BTreeMap;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use unbloat_analyze::Outcome;
use unbloat_health::Health;
use unbloat_run::format::TextWriter;
use unbloat_run::{RunInfo, RunWriter, Status, TraceStart, link_latest};
use unbloat_summary::{
    Outcome as Found, Reads, Summary, SummaryParams, Verdict, figures_rows, figures_table,
    summary_rows, summary_table,
};
use unbloat_table::{Rows, Table};
use unbloat_trace::{Output, all_tables};

pub struct Store {
    /// What the trace engine writes, then what the summary adds.
    tables: Vec<Table>,
    summary: Summary,
    run: Option<(RunWriter, RunInfo)>,
    print: Option<Print>,
}

/// The table that goes to standard output.
struct Print {
    table: usize,
    writer: TextWriter<BufWriter<Out>>,
}

/// The result of an analysis.
pub struct Stored {
    pub found: Found,
    pub dir: Option<PathBuf>,
}

impl Store {
    pub fn open(args: &Args, inputs: Vec<unbloat_run::Input>) -> Result<Store, AnalyzeError> {
        let traced = all_tables();
        let params = SummaryParams {
            bloat_threshold: args.bloat_threshold,
            tail: args.params.params().tail,
            ..SummaryParams::default()
        };
        let summary = if is_verdict_all(args) {
            Summary::of_verdict(&traced, params)
        } else {
            Summary::new(&traced, params)
        };
        let mut tables = traced;
        tables.extend([summary_table(), figures_table()]);
        let print = args.print.of(&args.table);
        let print = print
            .map(|wanted| Print::open(&wanted, &tables))
            .transpose()?;
        let run = if args.run.is_wanted(&args.print) {
            Some(open_run(args, inputs, &tables)?)
        } else {
            None
        };
        Ok(Store {
            tables,
            summary,
            run,
            print,
        })
    }

    /// The columns that are read, if not all are.
    pub fn reads(&mut self, args: &Args) -> Option<Reads> {
        is_verdict_all(args).then(|| self.summary.reads(&all_tables()))
    }

    pub fn take(&mut self, output: &Output) -> Result<(), AnalyzeError> {
        for (i, rows) in output.tables().into_iter().enumerate() {
            if !rows.is_empty() {
                self.summary.add(self.tables[i].name, rows);
                self.keep(i, rows)?;
            }
        }
        Ok(())
    }

    /// The verdict on finished and live flows, for a capture of this health.
    pub fn verdict_now(&mut self, living: &Output, health: &Health) -> Verdict {
        self.summary.set_health(health.clone());
        let names = self.tables.iter().map(|table| table.name);
        self.summary.verdict_with(names.zip(living.tables()))
    }

    fn keep(&mut self, table: usize, rows: &Rows) -> Result<(), AnalyzeError> {
        if let Some((writer, _)) = &mut self.run {
            writer.append(table, rows)?;
        }
        if let Some(print) = self.print.as_mut().filter(|print| print.table == table) {
            print.writer.append(rows.columns())?;
        }
        Ok(())
    }

    pub fn finish(mut self, outcome: &Outcome) -> Result<Stored, AnalyzeError> {
        self.summary.set_health(outcome.health.clone());
        let found = self.summary.finish();
        let own = self.tables.len() - 2;
        self.keep(own, &summary_rows(&found.metrics))?;
        self.keep(own + 1, &figures_rows(&found.figures))?;
        if let Some(print) = self.print {
            print.writer.finish()?;
        }
        let dir = match self.run {
            None => None,
            Some((writer, mut info)) => {
                complete(&mut info, outcome);
                info.verdict =
                    serde_json::to_value(&found.verdict).map_err(std::io::Error::from)?;
                info.left_out = found.left_out.clone();
                info.health = Some(found.health.clone());
                let dir = writer.finish(&info)?;
                write_report(&dir)?;
                link_latest(&dir)?;
                Some(dir)
            }
        };
        Ok(Stored { found, dir })
    }
}

/// Whether the verdict is the only output.
fn is_verdict_all(args: &Args) -> bool {
    args.run.no_run && args.print.format.is_none()
}

impl Print {
    fn open(wanted: &Wanted<'_>, tables: &[Table]) -> Result<Print, AnalyzeError> {
        let (table, writer) = wanted.begin(tables.iter())?;
        Ok(Print { table, writer })
    }
}

fn open_run(
    args: &Args,
    inputs: Vec<unbloat_run::Input>,
    tables: &[Table],
) -> Result<(RunWriter, RunInfo), AnalyzeError> {
    let dir = run_dir(args.run.out.as_deref(), &stem(&inputs))?;
    let command = std::env::args().collect();
    let mut info = RunInfo::new("unbloat analyze", env!("CARGO_PKG_VERSION"), command);
    info.inputs = inputs;
    info.options = args.options();
    let writer = RunWriter::create(&dir, &info, tables)?;
    Ok((writer, info))
}

/// The first input's name up to its first dot.
fn stem(inputs: &[unbloat_run::Input]) -> String {
    let name = inputs.first().map_or("", |input| input.name.as_str());
    let name = Path::new(name)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let first = name.split('.').next().filter(|n| !n.is_empty());
    first.unwrap_or("capture").to_owned()
}

fn complete(info: &mut RunInfo, outcome: &Outcome) {
    info.trace_start = outcome.origin.map(TraceStart);
    info.packets = outcome.packets;
    let skipped = outcome
        .skipped
        .iter()
        .map(|(reason, n)| (reason.name().to_owned(), n));
    info.skipped = skipped.collect::<BTreeMap<_, _>>();
    info.damage = outcome
        .notes
        .damage
        .iter()
        .map(ToString::to_string)
        .collect();
    info.lost_packets = outcome.notes.kernel_drops.unwrap_or(0);
    info.evicted_flows = outcome.stats.evicted_flows;
    info.status = match outcome {
        _ if !outcome.notes.damage.is_empty() => Status::Damaged,
        _ if outcome.interrupted => Status::Interrupted,
        _ => Status::Complete,
    };
}
