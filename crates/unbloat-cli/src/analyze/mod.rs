//! `unbloat analyze`: captures in, verdict, report and tables out.

mod args;
mod progress;
mod store;

pub use args::Args;

use crate::exit::Exit;
use progress::Progress;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::Store;
use unbloat_capture::{CaptureError, Input, Trace};
use unbloat_pipeline::{Control, Outcome, PipelineError, Settings, Standing};
use unbloat_run::RunError;
use unbloat_trace::Output;

#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("cannot write to standard output: {0}")]
    Stdout(#[from] std::io::Error),
    #[error("there is no table {name:?}; there are {known}")]
    NoTable { name: String, known: String },
    #[error("cannot get random numbers from the system: {0}")]
    Random(getrandom::Error),
    #[error("cannot watch for Ctrl-C: {0}")]
    Signals(#[from] ctrlc::Error),
}

impl From<PipelineError<AnalyzeError>> for AnalyzeError {
    fn from(error: PipelineError<AnalyzeError>) -> AnalyzeError {
        match error {
            PipelineError::Capture(error) => error.into(),
            PipelineError::Sink(error) => error,
        }
    }
}

pub fn run(args: &Args) -> Result<Exit, AnalyzeError> {
    let inputs = Input::expand(&args.inputs)?;
    let mut trace = Trace::open(&inputs)?;
    let mut store = Store::open(args, &inputs)?;
    let stop = stop_on_ctrl_c()?;
    let mut progress = Progress::new(args.quiet || !std::io::stderr().is_terminal());
    let settings = settings(args)?;
    let mut sink = |output: &Output, standing: Standing| {
        progress.show(&standing);
        store.take(output)?;
        let stopped = stop.load(Ordering::Relaxed);
        Ok(if stopped { Control::Stop } else { Control::Continue })
    };
    let outcome = unbloat_pipeline::run::<AnalyzeError>(&mut trace, &settings, &mut sink)?;
    progress.finish();
    tell(&outcome);
    store.finish(&outcome)?;
    Ok(match &outcome {
        outcome if outcome.interrupted => Exit::Interrupted,
        outcome if !outcome.notes.damage.is_empty() => Exit::Damaged,
        _ => Exit::Complete,
    })
}

fn settings(args: &Args) -> Result<Settings, AnalyzeError> {
    Ok(Settings {
        params: args.params.params(),
        parser: args.orientation.parser(),
        client_nets: args.orientation.client_net.clone(),
        threads: usize::from(args.threads),
        hash_seed: getrandom::u64().map_err(AnalyzeError::Random)?,
        summary_only: args.no_run && args.format.is_none(),
    })
}

/// The first Ctrl-C asks to stop and keep what is known; a second one ends at once.
fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, AnalyzeError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("unbloat: stopping; what is known so far will be written (Ctrl-C again: at once)");
    })?;
    Ok(stop)
}

/// What the result does not show: packets that nobody could read, damage, flows given up.
fn tell(outcome: &Outcome) {
    for damage in &outcome.notes.damage {
        eprintln!("unbloat: {damage}");
    }
    if outcome.skipped.total() > 0 {
        let reasons: Vec<String> =
            outcome.skipped.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
        eprintln!("unbloat: {} of {} packets carry no header for us: {}", outcome.skipped.total(), outcome.packets, reasons.join(", "));
    }
    if let Some(drops) = outcome.notes.kernel_drops.filter(|&n| n > 0) {
        eprintln!("unbloat: {drops} packets were dropped while capturing; counts are too low");
    }
    let stats = &outcome.stats;
    if stats.evicted_flows + stats.evicted_users > 0 {
        eprintln!(
            "unbloat: {} flows and {} users were closed early to stay within --max-flows",
            stats.evicted_flows, stats.evicted_users
        );
    }
    if outcome.interrupted {
        eprintln!("unbloat: stopped after {} packets; the result ends there", outcome.packets);
    }
}
