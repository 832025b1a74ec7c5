//! `unbloat doctor`: what works on this machine, and what is missing for the rest.

mod checks;

use crate::exit::{Exit, Failure};
use crate::print::{self};
use checks::{Check, State};
use console::{Alignment, pad_str, style};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use unbloat_os::files;
use unbloat_untrusted::harmless;

/// Check what works on this machine, and what is missing for the rest.
///
/// Nothing is changed: queue disciplines, rules and programs of the kernel are tried in a network namespace that is removed again. Run it
/// as root for a complete answer.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sudo unbloat doctor
  # for an error report (no addresses, no names)
  sudo unbloat doctor --json > doctor.json")]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What works on a machine.
#[derive(Serialize, JsonSchema)]
pub struct Diagnosis {
    /// Version of the program
    version: &'static str,
    /// Which commands this build has: `full`, `router` or `runs`
    build: &'static str,
    /// `sysname release machine`, as `uname -srm` prints them
    kernel: String,
    /// `PRETTY_NAME` of os-release(5)
    system: Option<String>,
    checks: Vec<Check>,
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let diagnosis = diagnosis();
    match args.json {
        true => print::raw(&print::document(&diagnosis)?)?,
        false => print::text(&text(&diagnosis))?,
    }
    Ok(Exit::Complete)
}

fn diagnosis() -> Diagnosis {
    let uname = rustix::system::uname();
    let part = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let release = files::open_named(Path::new("/etc/os-release"))
        .and_then(|file| files::text(file, 64 << 10))
        .unwrap_or_default();
    let named = |line: &str| {
        Some(
            line.strip_prefix("PRETTY_NAME=")?
                .trim_matches('"')
                .to_owned(),
        )
    };
    Diagnosis {
        version: env!("CARGO_PKG_VERSION"),
        build: match () {
            () if cfg!(feature = "full") => "full",
            () if cfg!(feature = "router") => "router",
            () => "runs",
        },
        kernel: [uname.sysname(), uname.release(), uname.machine()]
            .map(part)
            .join(" "),
        system: release.lines().find_map(named),
        checks: checks::all(),
    }
}

fn text(diagnosis: &Diagnosis) -> String {
    let Diagnosis {
        version,
        build,
        kernel,
        system,
        checks,
    } = diagnosis;
    let system = system.as_deref().unwrap_or("unknown system");
    let mut text = format!("unbloat {version} ({build} build), {kernel}, {system}\n\n");
    let names = checks.iter().map(|check| check.name.len());
    let widest = names.max().unwrap_or(0);
    for check in checks {
        let state = match check.state {
            State::Works => style("ok     ").green(),
            State::Limited => style("limited").yellow(),
            State::Missing => style("missing").red(),
            State::Unknown => style("unknown").dim(),
        };
        let name = pad_str(check.name, widest, Alignment::Left, None);
        text += &format!("{state}  {name}  {}\n", harmless(&check.found));
        let told = [("affects", &check.affects), ("to do", &check.mend)];
        for (label, line) in told {
            let Some(line) = line else { continue };
            text += &format!("{:9}{:widest$}  {label}: {line}\n", "", "");
        }
    }
    text
}
