//! What runs a scenario: the simulator, or the kernel's TCP in virtual or real time.

use super::args::{Args, Clock};
use crate::exit::{Failure, cannot};
use crate::lab::{Lab, VirtualLab};
use std::path::Path;
use tempfile::TempDir;
use unbloat_api::experiment::{Plan, Runner, Simulator};

/// For the scenarios that guests read.
pub fn folder() -> Result<TempDir, Failure> {
    tempfile::tempdir().map_err(cannot("write", &std::env::temp_dir()))
}

pub fn runner(
    args: &Args,
    plan: &Plan,
    text: &str,
    set: &[String],
    scenarios: &Path,
) -> Result<Box<dyn Runner<Failure>>, Failure> {
    Ok(match args.clock {
        Clock::Sim => Box::new(Simulator {
            threads: args.threads(),
        }),
        Clock::Lab => Box::new(Lab::default()),
        Clock::Virtual => {
            let name = plan.file.to_string_lossy().replace('/', "-");
            let file = scenarios.join(name);
            unbloat_os::files::replace(&file, text).map_err(cannot("write", &file))?;
            let mut arguments = ["unbloat", "lab", "run", "--virtual"]
                .map(str::to_owned)
                .to_vec();
            arguments.push(file.to_string_lossy().into_owned());
            arguments.extend(["--repeats".to_owned(), plan.sweep.repeats.to_string()]);
            if let Some(seed) = args.seed {
                arguments.extend(["--seed".to_owned(), seed.to_string()]);
            }
            for assignment in set {
                arguments.extend(["--set".to_owned(), assignment.clone()]);
            }
            Box::new(VirtualLab::new(plan, arguments, None)?)
        }
    })
}
