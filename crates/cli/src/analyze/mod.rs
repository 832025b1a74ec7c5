//! `unbloat analyze`: from captures to verdict, report and tables.

mod args;
mod confine;
mod input;
mod progress;
mod store;

pub use args::Args;

use crate::exit::Exit;
use crate::output::{self, OutputError, terminal_width};
use crate::print::{self, PrintError, note};
use crate::stop::stop_on_ctrl_c;
use progress::Progress;
#[cfg(feature = "full")]
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use store::{Store, Stored};
use unbloat_analyze::{Alive, Control, Outcome, PipelineError, Settings, Standing};
use unbloat_capture::CaptureError;
use unbloat_health::Health;
use unbloat_html::verdict_text;
use unbloat_run::RunError;
use unbloat_trace::Output;

#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("cannot write the output: {0}")]
    Write(#[from] std::io::Error),
    #[error("cannot get random numbers from the system: {0}")]
    Random(getrandom::Error),
    #[error("cannot install the Ctrl-C handler: {0}")]
    Signals(#[from] ctrlc::Error),
    #[error(transparent)]
    Print(#[from] PrintError),
}

impl From<PipelineError<AnalyzeError>> for AnalyzeError {
    fn from(error: PipelineError<AnalyzeError>) -> AnalyzeError {
        match error {
            PipelineError::Capture(error) => error.into(),
            PipelineError::Sink(error) => error,
        }
    }
}

/// Runs `unbloat analyze` on a capture as a process of its own, into the run folder `out`.
#[cfg(feature = "full")]
pub fn as_process(capture: &Path, out: &Path) -> std::io::Result<std::process::Output> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.arg("analyze").arg(capture).arg("--out").arg(out);
    command.stdout(std::process::Stdio::null()).output()
}

/// Interval at which a live verdict is redrawn.
const REDRAW: Duration = Duration::from_secs(1);

pub fn run(args: &Args) -> Result<Exit, AnalyzeError> {
    if args.interface.is_none() {
        confine::confine();
    }
    let (mut source, inputs) = input::open(args)?;
    let mut store = Store::open(args, inputs)?;
    let stop = stop_on_ctrl_c()?;
    let mut progress = Progress::new(args.quiet, args.interface.is_some());
    let settings = settings(args, &mut store)?;
    let (begun, mut drawn) = (Instant::now(), Instant::now());
    let mut sink = |output: &Output, standing: Standing, alive: Option<Alive<'_>>| {
        store.take(output)?;
        if let Some(alive) = alive.filter(|_| args.interface.is_some() && drawn.elapsed() > REDRAW)
        {
            let living = alive.shard.snapshot(standing.packets);
            let verdict = store.verdict_now(&living, alive.health);
            progress.redraw(&verdict_text(&verdict, terminal_width()), &standing);
            drawn = Instant::now();
        }
        progress.show(&standing);
        let over = args
            .duration
            .is_some_and(|d| begun.elapsed().as_secs_f64() > d.as_secs());
        let stopped = over || stop.load(Ordering::Relaxed);
        Ok(if stopped {
            Control::Stop
        } else {
            Control::Continue
        })
    };
    let mut outcome = if args.interface.is_some() {
        unbloat_analyze::run_live::<AnalyzeError>(&mut *source, &settings, &mut sink)?
    } else {
        let mut sink = |output: &Output, standing: Standing| sink(output, standing, None);
        unbloat_analyze::run::<AnalyzeError>(&mut *source, &settings, &mut sink)?
    };
    progress.finish();
    // Ctrl-C is the normal end of a live capture.
    outcome.interrupted &= args.interface.is_none();
    tell(&outcome);
    let stored = store.finish(&outcome)?;
    if args.print.format.is_none() {
        print::text(&verdict_text(&stored.found.verdict, terminal_width()))?;
    } else {
        tell_health(&stored.found.health);
    }
    point_to(&stored);
    Ok(match &outcome {
        outcome if outcome.interrupted => Exit::Interrupted,
        outcome if !outcome.notes.damage.is_empty() => Exit::Damaged,
        _ => Exit::Complete,
    })
}

fn settings(args: &Args, store: &mut Store) -> Result<Settings, AnalyzeError> {
    // Summary and figures are made of the series too.
    let series = [
        "summary",
        "figures",
        "rtt",
        "in_flight",
        "bandwidth",
        "events",
        "radio",
        "dns",
        "http",
    ];
    let printed = args.print.format.is_some() && series.contains(&args.table.as_str());
    Ok(Settings {
        params: args.params.params(),
        parser: args.orientation.parser(),
        client_nets: args.orientation.client_net.clone(),
        threads: usize::from(args.threads),
        hash_seed: getrandom::u64().map_err(AnalyzeError::Random)?,
        summary_only: args.run.no_run && !printed,
        reads: store.reads(args),
    })
}

fn point_to(stored: &Stored) {
    if let Some(dir) = &stored.dir {
        output::tell(dir);
    }
}

/// The printed verdict includes the same sentences.
fn tell_health(health: &Health) {
    for sentence in health.sentences() {
        note!("unbloat: {sentence}");
    }
}

/// What the result does not show: damage, unreadable packets, flows that were closed early.
fn tell(outcome: &Outcome) {
    for damage in &outcome.notes.damage {
        note!("unbloat: {damage}");
    }
    if outcome.skipped.total() > 0 {
        let reasons: Vec<String> = outcome
            .skipped
            .iter()
            .map(|(reason, n)| format!("{n} {reason}"))
            .collect();
        let (skipped, packets) = (outcome.skipped.total(), outcome.packets);
        note!(
            "unbloat: {skipped} of {packets} packets were not analysed: {}",
            reasons.join(", ")
        );
    }
    if outcome.health.kernel_drops == Some(0) {
        note!("unbloat: the kernel dropped no packets during the capture");
    }
    let stats = &outcome.stats;
    if stats.evicted_flows + stats.evicted_users > 0 {
        note!(
            "unbloat: {} flows and {} users were closed early to stay within --max-flows",
            stats.evicted_flows,
            stats.evicted_users
        );
    }
    if stats.given_up_lookups > 0 {
        note!(
            "unbloat: {} unanswered DNS look-ups were discarded because too many were open",
            stats.given_up_lookups
        );
    }
    if outcome.interrupted {
        note!(
            "unbloat: stopped after {} packets; the result covers only these",
            outcome.packets
        );
    }
}
