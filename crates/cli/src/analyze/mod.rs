//! `unbloat analyze`: from captures to verdict, report and tables.

mod args;
mod input;
mod print;
mod progress;

pub use args::Args;
#[cfg(feature = "full")]
pub use args::{OrientationArgs, ParamArgs};

use crate::confine::{Calls, CapabilitySet, May, confine_calls, confine_files, drop_capabilities};
use crate::exit::{Exit, Failure};
use crate::output::{self};
use crate::print::{note, text};
use crate::stop::stop_on_ctrl_c;
use crate::terminal;
use print::Print;
use progress::Progress;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use unbloat_analyze::{Alive, Control, Outcome, Standing};
use unbloat_api::analyze::{self, Keep, RowSink, Store, Stored};
use unbloat_api::folder::NewRun;
use unbloat_health::Health;
use unbloat_html::verdict_text;
use unbloat_summary::VerdictKind;
use unbloat_text::Tone;

/// Runs `unbloat analyze` on a capture as a process of its own, into the run folder `out`.
#[cfg(feature = "full")]
pub fn as_process(capture: &Path, out: &Path) -> std::io::Result<std::process::Output> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.arg("analyze").arg(capture).arg("--out").arg(out);
    command.stdout(std::process::Stdio::null()).output()
}

/// Interval at which a live verdict is redrawn.
const REDRAW: Duration = Duration::from_secs(1);

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let is_live = args.interface.is_some();
    if !is_live {
        drop_capabilities(CapabilitySet::empty());
        confine_calls(Calls::Files);
    }
    let options = args.options();
    let (mut source, inputs) = input::open(args)?;
    let reads: Vec<PathBuf> = inputs.iter().map(|one| one.name.clone().into()).collect();
    let mut store = Store::open(&options, inputs, keep(args)?)?;
    let mut files: Vec<(May, &Path)> = Vec::new();
    files.extend(reads.iter().map(|path| (May::Read, path.as_path())));
    if let Some(folder) = store.unfinished() {
        files.push((May::Write, folder));
        // Where it gets its name, and becomes `latest`.
        files.extend(folder.parent().map(|parent| (May::Rename, parent)));
    }
    drop_capabilities(CapabilitySet::empty());
    confine_files(&files);
    if is_live {
        // Its sockets are open.
        confine_calls(Calls::Files);
    }
    let stop = stop_on_ctrl_c()?;
    let mut progress = Progress::new(args.quiet, args.interface.as_deref());
    let (begun, mut drawn) = (Instant::now(), Instant::now());
    let control = || {
        let over = args
            .duration
            .is_some_and(|d| begun.elapsed().as_secs_f64() > d.as_secs());
        match over || stop.load(Ordering::Relaxed) {
            true => Control::Stop,
            false => Control::Continue,
        }
    };
    let mut outcome = if args.interface.is_some() {
        let mut watch = |so_far: &mut Store, standing: &Standing, alive: Option<Alive<'_>>| {
            if let Some(alive) = alive.filter(|_| drawn.elapsed() > REDRAW) {
                let living = alive.shard.snapshot(standing.packets);
                let verdict = so_far.verdict_now(&living, alive.health);
                progress.redraw(&verdict, standing);
                drawn = Instant::now();
            }
            progress.show(standing);
            control()
        };
        analyze::run_live(&mut *source, &options, &mut store, &mut watch)?
    } else {
        let mut watch = |standing: &Standing| {
            progress.show(standing);
            control()
        };
        analyze::run(&mut *source, &options, &mut store, &mut watch)?
    };
    progress.finish();
    // Ctrl-C is the normal end of a live capture.
    outcome.interrupted &= args.interface.is_none();
    tell(&outcome);
    let stored = store.finish(&outcome)?;
    if args.print.format.is_none() {
        let verdict = &stored.found.verdict;
        let said = verdict_text(verdict, terminal::width());
        text(&tone(verdict.kind).paint_first(&said))?;
    } else {
        tell_health(&stored.found.health);
    }
    point_to(&stored);
    if let Some(error) = stored.unwritten {
        return Err(format!(
            "no run was written: {error}; give another folder with --out, or --no-run"
        )
        .into());
    }
    Ok(match &outcome {
        outcome if outcome.interrupted => Exit::Interrupted,
        outcome if !outcome.notes.damage.is_empty() => Exit::Damaged,
        _ if stored.found.health.unreadable().is_some() => Exit::Untrusted,
        _ => Exit::Complete,
    })
}

/// What is kept of the analysis: a run folder, a table that is printed.
fn keep(args: &Args) -> Result<Keep, Failure> {
    // Summary and figures are made of the series too.
    let series = [
        "summary",
        "figures",
        "rtt",
        "in_flight",
        "bandwidth",
        "events",
        "dns",
        "http",
    ];
    let printed = args.prints(&series);
    let print = args.print.of(&args.table);
    let print = print.map(|wanted| Print::open(&wanted)).transpose()?;
    let run = args.run.is_wanted(&args.print).then(|| NewRun {
        out: args.run.out.clone(),
        command: std::env::args().collect(),
        is_published: true,
    });
    Ok(Keep {
        run,
        sink: print.map(|print| Box::new(print) as Box<dyn RowSink>),
        series: !args.run.no_run || printed,
    })
}

/// As a terminal shows it.
pub fn tone(kind: VerdictKind) -> Tone {
    match kind {
        VerdictKind::Bloated => Tone::Bad,
        VerdictKind::Clean => Tone::Good,
        VerdictKind::Slight
        | VerdictKind::OtherDelay
        | VerdictKind::NotTested
        | VerdictKind::CannotTell => Tone::Fair,
    }
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
pub fn tell(outcome: &Outcome) {
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
