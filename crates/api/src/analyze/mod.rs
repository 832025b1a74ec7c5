//! `unbloat analyze`: from packets to verdict, report and tables.

mod input;
mod options;
mod store;

pub use input::{describe, open};
pub use options::{Options, parse_count, parse_learnt_rate, parse_network};
pub use store::{Keep, RowSink, Store, Stored};

use crate::folder::{FolderError, NewRun};
use unbloat_analyze::{Alive, Control, Outcome, PipelineError, Settings, Standing};
use unbloat_capture::{CaptureError, Source};
use unbloat_run::RunError;
use unbloat_summary::{FigureRow, SummaryRow};
use unbloat_table::{Row, Table};
use unbloat_trace::{Output, all_tables};

/// Why an analysis failed.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("cannot write the output: {0}")]
    Write(#[from] std::io::Error),
    #[error("cannot get random numbers from the system: {0}")]
    Random(getrandom::Error),
}

impl From<PipelineError<AnalyzeError>> for AnalyzeError {
    fn from(error: PipelineError<AnalyzeError>) -> AnalyzeError {
        match error {
            PipelineError::Capture(error) => error.into(),
            PipelineError::Sink(error) => error,
        }
    }
}

/// The tables of an analysis: what the trace engine writes, then `summary` and `figures`.
pub fn tables() -> Vec<Table> {
    let mut tables = all_tables();
    tables.extend([SummaryRow::table(), FigureRow::table()]);
    tables
}

/// Analyses `inputs` (captures, patterns, or `-` for standard input) into a run. `watch` is called after each batch of packets and may
/// stop the analysis; what is known then becomes the result.
///
/// # Errors
/// A capture cannot be read, or the run cannot be written.
pub fn analyze(
    inputs: &[String],
    options: &Options,
    run: NewRun,
    watch: &mut dyn FnMut(&Standing) -> Control,
) -> Result<(Outcome, Stored), AnalyzeError> {
    let (mut source, described) = open(inputs)?;
    let mut store = Store::open(options, described, Keep::run(run))?;
    let outcome = self::run(&mut *source, options, &mut store, watch)?;
    let stored = store.finish(&outcome)?.written()?;
    Ok((outcome, stored))
}

/// Analyses all packets of `source` into `store`. `watch` is called after each batch of packets and may stop the analysis.
///
/// # Errors
/// The source cannot be read, or the store cannot take the rows.
pub fn run(
    source: &mut dyn Source,
    options: &Options,
    store: &mut Store,
    watch: &mut dyn FnMut(&Standing) -> Control,
) -> Result<Outcome, AnalyzeError> {
    let settings = settings(options, store)?;
    let mut sink = |output: &Output, standing: Standing| {
        store.take(output)?;
        Ok(watch(&standing))
    };
    Ok(unbloat_analyze::run::<AnalyzeError>(
        source, &settings, &mut sink,
    )?)
}

/// Sees a live analysis after each batch: its store, where it stands, and what is still alive.
pub type LiveWatch<'a> = dyn FnMut(&mut Store, &Standing, Option<Alive<'_>>) -> Control + 'a;

/// As [`run`] on one thread, for sources that do not end.
///
/// # Errors
/// As [`run`].
pub fn run_live(
    source: &mut dyn Source,
    options: &Options,
    store: &mut Store,
    watch: &mut LiveWatch<'_>,
) -> Result<Outcome, AnalyzeError> {
    let settings = settings(options, store)?;
    let mut sink = |output: &Output, standing: Standing, alive: Option<Alive<'_>>| {
        store.take(output)?;
        Ok(watch(store, &standing, alive))
    };
    Ok(unbloat_analyze::run_live::<AnalyzeError>(
        source, &settings, &mut sink,
    )?)
}

fn settings(options: &Options, store: &mut Store) -> Result<Settings, AnalyzeError> {
    Ok(Settings {
        params: options.params.clone(),
        parser: options.parser.clone(),
        client_nets: options.client_nets.clone(),
        threads: options.threads,
        hash_seed: getrandom::u64().map_err(AnalyzeError::Random)?,
        summary_only: !store.keeps_series(),
        reads: store.reads(),
    })
}
