//! Runs one experiment in virtual time, as the first process of a guest.

use super::{Args, Command, handed, run};
use crate::experiment;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use unbloat_lab::{Captures, Options, Timing};
use unbloat_os::files;
use unbloat_uml::Folders;
use unbloat_units::{Delta, Time};

pub const JOB: &str = "job.json";
/// File with the progress of the experiment, in ns.
pub const PROGRESS: &str = "progress";
pub const CAPTURES: &str = "captures";
/// Virtual time between two progress reports, because writing is expensive in a guest.
const TELL_EVERY: Delta = Delta::secs(1);
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Identifies an experiment: a run of the plan that these arguments define.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub arguments: Vec<String>,
    /// Working directory of the command.
    pub folder: PathBuf,
    pub index: usize,
    pub keeps_series: bool,
    /// Bytes of each packet to capture, if any.
    pub snap_len: Option<u32>,
}

/// Of what host and guest hand each other.
pub const LONGEST: u64 = 256 << 20;

impl Job {
    pub fn read(folders: &Folders) -> Result<Job, String> {
        let path = folders.input.join(JOB);
        let text =
            files::read(&path, LONGEST).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// Runs the experiment and writes its results.
pub fn inside(args: &Args, job: &Job, folders: &Folders) -> Result<(), String> {
    let Command::Run(args) = &args.command else {
        return Err("a guest can run only `unbloat lab run`".to_owned());
    };
    // SAFETY: this is the only thread.
    unsafe { std::env::set_var("PATH", PATH) };
    std::env::set_current_dir(&job.folder).map_err(|error| error.to_string())?;
    let plan = experiment::plan(&args.common).map_err(|error| error.to_string())?;
    folders.empty_temporary()?;
    let mut experiment = plan.experiment(job.index);
    experiment.keeps_series = job.keeps_series;
    let captures = job.snap_len.map(|snap_len| Captures {
        folder: folders.output.join(CAPTURES),
        snap_len,
        hosts: None,
    });
    if let Some(captures) = &captures {
        fs::create_dir(&captures.folder).map_err(|error| error.to_string())?;
    }
    let teller = Teller::create(&folders.output.join(PROGRESS))?;
    let options = Options {
        timing: Timing::Sleep,
        has_offloads: true,
        keeps_series: experiment.keeps_series,
        captures,
        beside: args.exec.clone(),
        watcher: Some(&|snapshot| teller.at(snapshot.at)),
    };
    let ran = unbloat_lab::run(&experiment, &options, &AtomicBool::new(false));
    let ran = ran.map_err(|error| error.to_string())?;
    handed::write(&folders.output, &run::came(&experiment, ran, job.index))
}

/// Reports the progress of the experiment to the host.
struct Teller(Mutex<(File, Cell<Time>)>);

impl Teller {
    fn create(path: &Path) -> Result<Teller, String> {
        let file =
            files::create_named(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Teller(Mutex::new((file, Cell::new(Time::MIN)))))
    }

    fn at(&self, at: Time) {
        let Ok(mut teller) = self.0.lock() else {
            return;
        };
        let (file, told) = &mut *teller;
        if told.get() > Time::MIN && at - told.get() < TELL_EVERY {
            return;
        }
        told.set(at);
        // Best effort: without it the host shows no progress.
        let _ = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| write!(file, "{:<20}", at.as_ns()))
            .and_then(|()| file.sync_data());
    }
}
