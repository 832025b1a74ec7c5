//! `unbloat lab run --virtual`: runs each experiment in its own guest, which executes this program.

use super::handed;
use super::inside::{CAPTURES, JOB, Job, PROGRESS};
use crate::exit::Failure;
use std::cell::Cell;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unbloat_api::experiment::{Came, Plan, Progress, Runner, tables};
use unbloat_experiment::scenario::Experiment;
use unbloat_lab::{Captures, Memory};
use unbloat_os::files::{self, Replacement};
use unbloat_run::Clock;
use unbloat_uml::{Guest, GuestError, Kernel};
use unbloat_units::Time;

/// Time without progress after which a guest counts as hung.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longer than any experiment: a guest is ended for lack of progress, not for its duration.
const LIMIT: Duration = Duration::from_secs(7 * 86_400);
/// Least memory of a guest; the host allocates it on demand.
const MEMORY_MIB: u32 = 2048;

/// Runs each experiment in a guest.
pub struct VirtualLab {
    kernel: Kernel,
    arguments: Vec<String>,
    is_single: bool,
    captures: Option<Captures>,
}

impl VirtualLab {
    /// Builds the guest's kernel if it is missing. `arguments` are those of a `lab run` with this plan.
    pub fn new(
        plan: &Plan,
        arguments: Vec<String>,
        captures: Option<Captures>,
    ) -> Result<VirtualLab, Failure> {
        Ok(VirtualLab {
            kernel: Kernel::ensure()?,
            arguments,
            is_single: plan.runs() == 1,
            captures,
        })
    }
}

/// Those of this process.
pub fn own_arguments() -> Result<Vec<String>, Failure> {
    let arguments = std::env::args_os().map(|raw| {
        let text = raw.into_string();
        text.map_err(|argument| {
            format!(
                "argument {} is not valid UTF-8, which --virtual requires",
                argument.to_string_lossy()
            )
            .into()
        })
    });
    arguments.collect()
}

impl Runner<Failure> for VirtualLab {
    fn command(&self) -> &'static str {
        "unbloat lab run"
    }

    fn stem(&self) -> &'static str {
        "lab"
    }

    fn clock(&self) -> Clock {
        Clock::Virtual
    }

    fn kernel(&self) -> Option<String> {
        Some(format!(
            "Linux {} (User Mode Linux)",
            self.kernel.source_version()
        ))
    }

    /// Guests do not affect each other.
    fn at_a_time(&self) -> usize {
        std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
    }

    fn is_real_time(&self) -> bool {
        self.is_single
    }

    fn run(
        &self,
        experiment: &Experiment,
        index: usize,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Option<Came>, Failure> {
        let own = std::env::current_exe().map_err(unreadable)?;
        let job = Job {
            arguments: self.arguments.clone(),
            folder: std::env::current_dir().map_err(unreadable)?,
            index,
            keeps_series: experiment.keeps_series,
            snap_len: self.captures.as_ref().map(|captures| captures.snap_len),
        };
        let job = serde_json::to_vec(&job).expect("a job is plain text");
        let memory = Memory::of(experiment)?;
        let guest = Guest::new(self.kernel.clone())
            .seed(experiment.seed)
            .memory_mib(memory.guest_mib().max(MEMORY_MIB))
            .limit(LIMIT);
        let watch = Watch::new(stop, progress);
        let finished = guest.run_over_host(&own, &[(JOB, &job)], &watch.end, &|output| {
            watch.look(output)
        });
        let finished = finished.map_err(|error| watch.explain(error))?;
        if let Some(captures) = &self.captures {
            take_captures(&finished.output().join(CAPTURES), &captures.folder)
                .map_err(unreadable)?;
        }
        let tables = tables().into_iter().chain(super::tables());
        let came = handed::read(finished.output(), tables.collect());
        came.map(Some)
            .map_err(|error| format!("cannot read the results of the guest: {error}").into())
    }
}

/// Copies captures, because the guest's folder may be on another file system.
fn take_captures(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in from.read_dir()? {
        let entry = entry?;
        let mut copy = Replacement::of(&to.join(entry.file_name()))?;
        io::copy(&mut files::open(&entry.path())?, &mut copy)?;
        copy.put()?;
    }
    Ok(())
}

fn unreadable(error: std::io::Error) -> Failure {
    format!("cannot read the results of the guest: {error}").into()
}

/// Watches the progress of a guest, and ends the guest on Ctrl-C or if it makes no progress.
struct Watch<'a> {
    stop: &'a AtomicBool,
    progress: &'a dyn Progress,
    end: AtomicBool,
    seen: Cell<(Time, Instant)>,
}

impl Watch<'_> {
    fn new<'a>(stop: &'a AtomicBool, progress: &'a dyn Progress) -> Watch<'a> {
        Watch {
            stop,
            progress,
            end: AtomicBool::new(false),
            seen: Cell::new((Time::from_ns(0), Instant::now())),
        }
    }

    fn look(&self, output: &Path) {
        let text = files::open(&output.join(PROGRESS)).and_then(|file| files::text(file, 64));
        let at = text
            .unwrap_or_default()
            .trim()
            .parse()
            .map_or(Time::from_ns(0), Time::from_ns);
        let (before, since) = self.seen.get();
        if at > before {
            self.progress.at(at);
            self.seen.set((at, Instant::now()));
        }
        if self.stop.load(Ordering::Relaxed) || (at <= before && since.elapsed() > PATIENCE) {
            self.end.store(true, Ordering::Relaxed);
        }
    }

    fn explain(&self, error: GuestError) -> Failure {
        match error {
            GuestError::Stopped if !self.stop.load(Ordering::Relaxed) => format!(
                "virtual time in the guest stopped {} after the start and did not advance for {} s; a program in the guest probably waits in a busy loop",
                self.seen.get().0 - Time::from_ns(0),
                PATIENCE.as_secs(),
            )
            .into(),
            other => other.into(),
        }
    }
}
