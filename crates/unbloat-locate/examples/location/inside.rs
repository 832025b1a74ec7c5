//! What happens in the guest: one trial.

use crate::bed::{FAR_END, Fault, Path};
use crate::traffic::{Bulk, Others};
use crate::trial::{Judged, Trial, judge};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path as FilePath;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use unbloat_guest::{Finished, Folders, Guest, GuestError, Kernel};
use unbloat_locate::{Located, Options};

const JOB: &str = "trial.json";
const RESULT: &str = "result.json";

#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub judged: Judged,
    pub verdict: String,
    /// Of each hop: kind, answers when idle and under load, delay when idle and added, in ms.
    pub hops: Vec<(u8, String, usize, usize, f64, f64)>,
}

/// In the guest.
pub fn inside(folders: &Folders) -> Result<(), String> {
    let done = folders
        .empty_temporary()
        .map_err(Fault::from)
        .and_then(|()| {
            // SAFETY: this is the only thread.
            unsafe { std::env::set_var("PATH", "/usr/sbin:/usr/bin:/sbin:/bin") };
            let trial = serde_json::from_slice(&fs::read(folders.input.join(JOB))?)?;
            let outcome = serde_json::to_vec(&outcome(&trial)?)?;
            Ok(fs::write(folders.output.join(RESULT), outcome)?)
        });
    done.map_err(|fault: Fault| fault.to_string())
}

/// On the host: runs a trial in a guest of its own.
pub fn outside(kernel: &Kernel, trial: &Trial) -> Result<(Outcome, Duration), Fault> {
    let own = std::env::current_exe()?;
    let guest = Guest::new(kernel.clone())
        .seed(trial.number)
        .memory_mib(1024);
    let job = serde_json::to_vec(trial)?;
    let stop = AtomicBool::new(false);
    let finished: Result<Finished, GuestError> =
        guest.run_over_host(&own, &[(JOB, &job)], &stop, &|_: &FilePath| {});
    let finished = finished?;
    let outcome = serde_json::from_slice(&fs::read(finished.output().join(RESULT))?)?;
    Ok((outcome, finished.host_time))
}

fn outcome(trial: &Trial) -> Result<Outcome, Fault> {
    let path = Path::build(trial)?;
    let located = locate(&path, trial)?;
    let verdict = &located.verdicts[0];
    let hop = |hop: &unbloat_hop::HopReport| {
        let ms = |delta: Option<unbloat_units::Delta>| {
            delta.map_or(f64::NAN, |d| (d.as_ms() * 10.0).round() / 10.0)
        };
        let (idle, loaded) = (hop.idle_answered, hop.loaded_answered);
        let kind = hop.kind.name().to_owned();
        (hop.hop, kind, idle, loaded, ms(hop.idle_p50), ms(hop.added))
    };
    Ok(Outcome {
        judged: judge(trial, verdict),
        verdict: format!("{verdict} {:?}", located.counts),
        hops: verdict.hops.iter().map(hop).collect(),
    })
}

fn locate(path: &Path, trial: &Trial) -> Result<Located, Fault> {
    let mut options = Options::new(FAR_END.into());
    options.loads = vec![trial.direction.phase()];
    options.idle = Duration::from_secs(7);
    options.loaded = Duration::from_secs(7);
    options.drain = Duration::ZERO;
    let _others = Others::start(path, trial)?;
    let mut bulk = Bulk::new(path, trial)?;
    let never = AtomicBool::new(false);
    let located = path
        .first()
        .within(|| unbloat_locate::run(&options, &mut bulk, &mut |_| {}, &never))?;
    Ok(located?)
}
