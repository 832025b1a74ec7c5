//! What happens in the guest: one trial.

use crate::bed::{FAR_END, Fault, Path};
use crate::lan::Lan;
use crate::traffic::{Bulk, Others};
use crate::trial::{Judged, Trial, judge};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path as FilePath;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use unbloat_locate::Phase;
use unbloat_locate_host::{Load, Located, Options};
use unbloat_uml::{Finished, Folders, Guest, GuestError, Kernel};

const JOB: &str = "job.json";
const RESULT: &str = "result.json";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Job {
    Row(Trial),
    Lan(Lan),
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Of each load.
    pub judged: Vec<Judged>,
    pub verdict: String,
    pub hops: Vec<Hop>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Hop {
    hop: u8,
    kind: String,
    idle_answered: usize,
    loaded_answered: usize,
    idle_p50_ms: Option<f64>,
    added_ms: Option<f64>,
}

/// In the guest.
pub fn inside(folders: &Folders) -> Result<(), String> {
    let done = folders
        .empty_temporary()
        .map_err(Fault::from)
        .and_then(|()| {
            // SAFETY: this is the only thread.
            unsafe { std::env::set_var("PATH", "/usr/sbin:/usr/bin:/sbin:/bin") };
            let job = serde_json::from_slice(&fs::read(folders.input.join(JOB))?)?;
            let outcome = serde_json::to_vec(&outcome(&job)?)?;
            Ok(fs::write(folders.output.join(RESULT), outcome)?)
        });
    done.map_err(|fault: Fault| fault.to_string())
}

/// On the host: does a job in a guest of its own.
pub fn outside(kernel: &Kernel, job: &Job) -> Result<(Outcome, Duration), Fault> {
    let own = std::env::current_exe()?;
    let guest = Guest::new(kernel.clone())
        .seed(match job {
            Job::Row(trial) => trial.number,
            Job::Lan(_) => 1,
        })
        .memory_mib(1024);
    let job = serde_json::to_vec(job)?;
    let stop = AtomicBool::new(false);
    let finished: Result<Finished, GuestError> =
        guest.run_over_host(&own, &[(JOB, &job)], &stop, &|_: &FilePath| {});
    let finished = finished?;
    let outcome = serde_json::from_slice(&fs::read(finished.output().join(RESULT))?)?;
    Ok((outcome, finished.host_time))
}

/// In these very namespaces.
pub fn outcome(job: &Job) -> Result<Outcome, Fault> {
    let (judged, located) = match job {
        Job::Lan(lan) => lan.outcome()?,
        Job::Row(trial) => {
            let path = Path::build(trial)?;
            let located = locate(&path, trial)?;
            let judged = located.verdicts.iter().map(|verdict| judge(trial, verdict));
            (judged.collect(), located)
        }
    };
    let hop = |hop: &unbloat_locate::HopReport| {
        let ms =
            |delta: Option<unbloat_units::Delta>| delta.map(|d| (d.as_ms() * 10.0).round() / 10.0);
        Hop {
            hop: hop.hop,
            kind: hop.kind.name().to_owned(),
            idle_answered: hop.idle_answered,
            loaded_answered: hop.loaded_answered,
            idle_p50_ms: ms(hop.idle_p50),
            added_ms: ms(hop.added),
        }
    };
    let said: Vec<String> = located.verdicts.iter().map(ToString::to_string).collect();
    let hops = located.verdicts.iter().flat_map(|verdict| &verdict.hops);
    Ok(Outcome {
        judged,
        verdict: format!("{} {:?}", said.join("\n    "), located.counts),
        hops: hops.map(hop).collect(),
    })
}

fn locate(path: &Path, trial: &Trial) -> Result<Located, Fault> {
    let mut options = Options::new(FAR_END.into());
    options.loads = vec![trial.direction.phase()];
    options.idle = Duration::from_secs(7);
    options.loaded = Duration::from_secs(7);
    options.drain = Duration::ZERO;
    let _others = Others::start(path, trial)?;
    let bulk = Bulk::new(path.first(), path.last(), FAR_END)?;
    let mut load = Held { bulk, path, trial };
    let never = AtomicBool::new(false);
    let located = path
        .first()
        .within(|| unbloat_locate_host::run(&options, &mut load, &mut |_| {}, &never))?;
    Ok(located?)
}

/// Load, while which the slow router's answers are slower.
struct Held<'a> {
    bulk: Bulk<'a>,
    path: &'a Path,
    trial: &'a Trial,
}

impl Load for Held<'_> {
    fn start(&mut self, direction: Phase) -> Result<(), String> {
        let held = self.path.hold_answers(self.trial, 2);
        held.map_err(|fault| fault.to_string())?;
        self.bulk.start(direction)
    }

    fn stop(&mut self) -> Result<(), String> {
        self.bulk.stop()
    }
}
