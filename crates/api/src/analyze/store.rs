//! Where the rows go: the run folder, the summary, and a sink of the caller.

use super::{AnalyzeError, Options, tables};
use crate::folder::{NewRun, publish_run, run_dir};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use unbloat_analyze::Outcome;
use unbloat_health::Health;
use unbloat_html::{Candidates, RenderOptions};
use unbloat_run::{RunInfo, RunWriter, Status, TraceStart};
use unbloat_summary::{
    Outcome as Found, Reads, Summary, SummaryParams, Verdict, figures_rows, summary_rows,
};
use unbloat_table::{ColumnView, Row, Rows, Table};
use unbloat_trace::tables::{InFlightRow, RttRow, StandingRow};
use unbloat_trace::{ALWAYS_TOLD_WINDOWS, Output, Params, all_tables};

/// Takes the rows of all tables as they are found, for example to print one of them.
pub trait RowSink {
    /// Takes rows of the table with this number in [`tables`].
    ///
    /// # Errors
    /// The rows cannot be written; this ends the analysis.
    fn take(&mut self, table: usize, rows: &Rows) -> io::Result<()>;

    /// Takes note that all rows of all tables have been taken.
    ///
    /// # Errors
    /// The end cannot be written.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// What is kept of an analysis besides the verdict.
pub struct Keep {
    /// A run folder with all tables.
    pub run: Option<NewRun>,
    /// The caller's sink.
    pub sink: Option<Box<dyn RowSink>>,
    /// Make the rows of series (`rtt`, `in_flight` and the like), which the figures need too.
    pub series: bool,
}

impl Keep {
    /// All tables in a run folder.
    pub fn run(run: NewRun) -> Keep {
        Keep {
            run: Some(run),
            sink: None,
            series: true,
        }
    }

    /// Whether the verdict is the only result.
    fn is_verdict_all(&self) -> bool {
        self.run.is_none() && self.sink.is_none()
    }
}

/// Takes what an analysis finds, and makes of it the run folder and the verdict.
///
/// [`super::run`] feeds it from one source of packets. What finds the rows elsewhere (many machines) calls [`Store::take`] with them, in
/// the order in which one machine finds them, and [`Store::finish`] at the end.
pub struct Store {
    /// What the trace engine writes, then what the summary adds.
    tables: Vec<Table>,
    summary: Summary,
    run: Option<Writing>,
    /// Why there is no run folder, if one was wanted.
    unwritten: Option<AnalyzeError>,
    sink: Option<Box<dyn RowSink>>,
    keeps_series: bool,
    is_verdict_all: bool,
    params: Params,
    /// Flows that the report may show.
    candidates: Candidates,
    /// Live flows of which `standing` says something: the verdict may name them.
    told: BTreeSet<u64>,
}

/// A run folder that is being written.
struct Writing {
    writer: RunWriter,
    info: RunInfo,
    is_published: bool,
}

/// The result of an analysis.
pub struct Stored {
    /// Headline numbers, figures and the verdict.
    pub found: Found,
    /// The run folder, if one was wanted and could be written.
    pub dir: Option<PathBuf>,
    /// Why it could not.
    pub unwritten: Option<AnalyzeError>,
}

impl Stored {
    /// Itself, if the run folder that was wanted is there.
    ///
    /// # Errors
    /// It could not be written.
    pub fn written(mut self) -> Result<Stored, AnalyzeError> {
        match self.unwritten.take() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }
}

impl Store {
    /// Begins the run folder, if one is wanted. `inputs` describe what is analysed. An unnamed folder that cannot be written does not stop
    /// the analysis, nor does a disk that fills up: the verdict is still found, and [`Stored::unwritten`] is the reason.
    ///
    /// # Errors
    /// The named folder exists or cannot be written.
    pub fn open(
        options: &Options,
        inputs: Vec<unbloat_run::Input>,
        keep: Keep,
    ) -> Result<Store, AnalyzeError> {
        let traced = all_tables();
        let params = SummaryParams {
            bloat_threshold: options.params.bloat_threshold,
            tail: options.params.tail,
            ..SummaryParams::default()
        };
        let is_verdict_all = keep.is_verdict_all();
        let summary = if is_verdict_all {
            Summary::of_verdict(&traced, params)
        } else {
            Summary::new(&traced, params)
        };
        let tables = tables();
        let is_named = keep.run.as_ref().is_some_and(|run| run.out.is_some());
        let begun = keep
            .run
            .map(|run| Writing::begin(run, options, inputs, &tables));
        let (run, unwritten) = match begun.transpose() {
            Ok(run) => (run, None),
            Err(error) if is_named => return Err(error),
            Err(error) => (None, Some(error)),
        };
        Ok(Store {
            tables,
            summary,
            run,
            unwritten,
            sink: keep.sink,
            keeps_series: keep.series,
            is_verdict_all,
            params: options.params.clone(),
            candidates: Candidates::new(RenderOptions::default().flows),
            told: BTreeSet::new(),
        })
    }

    /// Where the files of its run are until it is finished.
    pub fn unfinished(&self) -> Option<&Path> {
        self.run.as_ref().map(|run| run.writer.unfinished())
    }

    pub(super) fn keeps_series(&self) -> bool {
        self.keeps_series
    }

    /// The columns that are read, if not all are.
    pub(super) fn reads(&mut self) -> Option<Reads> {
        self.is_verdict_all
            .then(|| self.summary.reads(&all_tables()))
    }

    /// Takes the rows of a batch.
    ///
    /// # Errors
    /// The sink cannot be written.
    pub fn take(&mut self, output: &Output) -> Result<(), AnalyzeError> {
        if self.is_verdict_all {
            let named = self.tables.iter().zip(output.tables());
            named.for_each(|(table, rows)| self.summary.add(table.name, rows));
            return Ok(());
        }
        let standing = telling(&output.side.standing);
        let passed_over = self.passed_over(output, &standing);
        for (i, rows) in output.tables().into_iter().enumerate() {
            let table = &self.tables[i];
            let kept = match table.name {
                _ if rows.is_empty() => continue,
                StandingRow::NAME => Cow::Borrowed(&standing),
                RttRow::NAME | InFlightRow::NAME if !passed_over.is_empty() => {
                    let flow = column_of_ids(rows);
                    let is_kept = |id| passed_over.binary_search(&id).is_err();
                    Cow::Owned(rows.filtered(table, |row| flow.u64(row).is_none_or(is_kept)))
                }
                _ => Cow::Borrowed(rows),
            };
            // The figure of bytes in flight is one of large flows.
            let is_of_kept = table.name == InFlightRow::NAME;
            let counted = if is_of_kept { &kept } else { rows };
            self.summary.add(table.name, counted);
            self.keep(i, &kept)?;
        }
        Ok(())
    }

    /// Of the flows that ended, those whose rows of `rtt` and `in_flight` nobody looks at, ascending: short ones that no report shows.
    fn passed_over(&mut self, output: &Output, standing: &Rows) -> Vec<u64> {
        let flows = &output.flows;
        let place = |name: &str| self.tables[0].column(name);
        let column = |name: &str| ColumnView::of(place(name).map(|at| &flows.columns()[at]));
        let sum_of = |names: [&str; 2]| {
            let both = names.map(column);
            move |row| both.iter().filter_map(|one| one.u64(row)).sum()
        };
        let payload = sum_of(["payload_down_bytes", "payload_up_bytes"]);
        let packets = sum_of(["packets_down", "packets_up"]);
        let (id, told) = (column("flow_id"), column_of_ids(standing));
        self.told
            .extend((0..standing.len()).filter_map(|row| told.u64(row)));
        let ended = self.candidates.offer(column, flows.len());
        let ended = ended.into_iter().enumerate();
        let passed_over = ended.filter_map(|(row, is_candidate)| {
            let id = id.u64(row)?;
            let is_shown = self.told.remove(&id) || is_candidate;
            (!is_shown && !self.params.is_long(payload(row), packets(row))).then_some(id)
        });
        let mut passed_over: Vec<u64> = passed_over.collect();
        passed_over.sort_unstable();
        passed_over
    }

    /// The verdict on finished and live flows, for a capture of this health.
    pub fn verdict_now(&mut self, living: &Output, health: &Health) -> Verdict {
        self.summary.set_health(health.clone());
        let names = self.tables.iter().map(|table| table.name);
        self.summary.verdict_with(names.zip(living.tables()))
    }

    fn keep(&mut self, table: usize, rows: &Rows) -> Result<(), AnalyzeError> {
        if let Some(run) = &mut self.run
            && let Err(error) = run.writer.append(table, rows)
        {
            self.run = None;
            self.unwritten = Some(error.into());
        }
        if let Some(sink) = &mut self.sink {
            sink.take(table, rows)?;
        }
        Ok(())
    }

    /// Adds the summary's tables and completes the run folder.
    ///
    /// # Errors
    /// The sink cannot be written.
    pub fn finish(mut self, outcome: &Outcome) -> Result<Stored, AnalyzeError> {
        self.summary.set_health(outcome.health.clone());
        let found = self.summary.finish();
        let own = self.tables.len() - 2;
        self.keep(own, &summary_rows(&found.metrics).1)?;
        self.keep(own + 1, &figures_rows(&found.figures).1)?;
        if let Some(sink) = self.sink {
            sink.finish()?;
        }
        let finished = self.run.map(|run| run.finish(outcome, &found));
        let (dir, unwritten) = match finished.transpose() {
            Ok(dir) => (dir, self.unwritten),
            Err(error) => (None, Some(error)),
        };
        Ok(Stored {
            found,
            dir,
            unwritten,
        })
    }
}

impl Writing {
    fn begin(
        run: NewRun,
        options: &Options,
        inputs: Vec<unbloat_run::Input>,
        tables: &[Table],
    ) -> Result<Writing, AnalyzeError> {
        let dir = run_dir(run.out.as_deref(), &stem(&inputs))?;
        let mut info = RunInfo::new("unbloat analyze", env!("CARGO_PKG_VERSION"), run.command);
        info.inputs = inputs;
        info.options = options.options();
        let mut writer = RunWriter::create(&dir, &info, tables)?;
        if run.is_published {
            writer.keep();
        }
        Ok(Writing {
            writer,
            info,
            is_published: run.is_published,
        })
    }

    fn finish(mut self, outcome: &Outcome, found: &Found) -> Result<PathBuf, AnalyzeError> {
        let info = &mut self.info;
        complete(info, outcome);
        info.verdict = serde_json::to_value(&found.verdict).map_err(io::Error::from)?;
        info.left_out = found.left_out.clone();
        info.health = Some(found.health.clone());
        let run = self.writer.finish_read(info)?;
        if self.is_published {
            publish_run(&run)?;
        }
        Ok(run.dir().to_owned())
    }
}

/// The flows that rows of a table beside `flows` belong to.
fn column_of_ids(rows: &Rows) -> ColumnView<'_> {
    ColumnView::of(rows.columns().first())
}

/// The rows of `standing` from which something follows, or that are long enough to show that nothing does: a small part of them.
/// The verdict counts the others too; nobody reads them.
fn telling(rows: &Rows) -> Rows {
    let table = StandingRow::table();
    let column = |name| ColumnView::of(table.column(name).map(|at| &rows.columns()[at]));
    let (windows, step) = (column(StandingRow::windows), column(StandingRow::step_ms));
    let counts = [
        StandingRow::standing_windows,
        StandingRow::think_samples,
        StandingRow::wake_samples,
        StandingRow::power_save_samples,
        StandingRow::ack_samples,
        StandingRow::hold_samples,
        StandingRow::jitter_samples,
    ];
    let counts = counts.map(column);
    rows.filtered(&table, |row| {
        windows.u64(row) >= Some(ALWAYS_TOLD_WINDOWS)
            || step.f64(row).is_some()
            || counts.iter().any(|count| count.u64(row) > Some(0))
    })
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
