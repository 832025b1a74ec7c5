//! `unbloat test`: latency under load on a live path.

mod args;
mod following;
#[cfg(feature = "runs")]
mod info;
mod progress;
mod stored;
mod sweep;

use crate::confine::{CapabilitySet, MEASURES, drop_capabilities, speak};
use crate::exit::{Exit, Failure, cannot};
use crate::locate::DriverWatch;
#[cfg(feature = "runs")]
use crate::output::write_run;
use crate::print::{self, note};
use crate::stop::stop_on_ctrl_c;
use crate::trust::agreed;
pub use args::Args;
use following::Following;
use progress::Line;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
pub use stored::read;
use unbloat_loadtest::{Findings, Measured, Options, OwnAddresses, Public, Target};
use unbloat_os::files;
use unbloat_responsiveness::Verdict;
use unbloat_responsiveness::document::Test;
use unbloat_sqm::Plan;
use unbloat_undo::{Holding, Journals, Resource};
use unbloat_units::{Both, Rate};
use unbloat_untrusted::one_line;

/// File of the findings in a run folder.
pub const FINDINGS: &str = "test.json";

pub fn run(args: &Args) -> Result<Exit, Failure> {
    drop_capabilities(MEASURES);
    let all = args.options()?;
    let stop = stop_on_ctrl_c()?;
    let mut exit = Exit::Complete;
    let mut lines = Vec::new();
    for (number, options) in all.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if all.len() > 1 {
            note!("{}", point(options));
        }
        let place = (all.len() > 1).then_some(number);
        let (came, findings) = one(args, options, place, &stop)?;
        exit = worse(exit, came);
        lines.extend(sweep::lines(options, &findings));
    }
    if all.len() > 1 && !args.json {
        print::line("")?;
        print::text(&sweep::text(&lines))?;
    }
    Ok(exit)
}

fn one(
    args: &Args,
    options: &Options,
    place: Option<usize>,
    stop: &AtomicBool,
) -> Result<(Exit, Findings), Failure> {
    let (measured, findings) = measure(args, options, args.locating(), stop)?;
    if args.json {
        print::json(&unbloat_loadtest::document(&measured, &findings))?;
    } else {
        print::raw(&args.text(&measured, &findings))?;
    }
    write(args, place, &measured, &findings)?;
    let is_fatal =
        findings.verdict.doubts.iter().any(|doubt| doubt.is_fatal) || measured.gone.is_some();
    let exit = match (measured.is_cut, is_fatal) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Untrusted,
        (false, false) => Exit::Complete,
    };
    Ok((exit, findings))
}

fn measure(
    args: &Args,
    options: &Options,
    locating: Locating,
    stop: &AtomicBool,
) -> Result<(Measured, Findings), Failure> {
    let rule = args.grade;
    let fitted = match locating {
        Locating::Yes => speak(CapabilitySet::empty(), || following::fitted(options)),
        Locating::No => options.clone(),
    };
    let eyes = fitted.address.filter(|_| locating == Locating::Yes);
    let eyes = eyes.map(|address| (address, DriverWatch::open(address)));
    announce(&options.target)?;
    let line = Line::new(args.quiet);
    let (measured, located) = speak(kept(options), || {
        let following = eyes.map(|(address, driver)| Following::begin(address, driver));
        let measured = unbloat_loadtest::measure(&fitted, stop, &mut |at| {
            line.show(at);
            following.iter().for_each(|following| following.tell(at));
        });
        (measured, following.map(Following::end).transpose())
    });
    line.finish();
    let mut measured = measured?;
    let located = located.unwrap_or_else(|error| {
        measured
            .limitations
            .push(format!("place of the queue: {error}"));
        None
    });
    if locating == Locating::Yes && fitted.address.is_none() {
        let unknown = "place of the queue: the server names itself only when the test begins";
        measured.limitations.push(unknown.to_owned());
    }
    let mut findings = unbloat_loadtest::findings(&measured, rule);
    if let Some((shaped, words)) = own_shaper(&measured) {
        findings.behind(shaped, &words);
    }
    if let Some(located) = located {
        let server = measured.server.address;
        let own = server.map(OwnAddresses::towards).unwrap_or_default();
        findings.locate(located, own);
    }
    Ok((measured, findings))
}

/// What root keeps who measures: to probe hops, to read what programs in the kernel count, and to choose any congestion control.
pub fn kept(options: &Options) -> CapabilitySet {
    let probes = CapabilitySet::NET_RAW | CapabilitySet::BPF;
    match options.congestion_control {
        None => probes,
        Some(_) => probes | CapabilitySet::NET_ADMIN,
    }
}

/// Says, before anything is sent to a server of others, how much that will be at most and what its operator learns; once, however many tests there are.
pub fn announce(target: &Target) -> Result<(), Failure> {
    static SAID: Once = Once::new();
    if let Some(words) = unbloat_loadtest::notice(target) {
        SAID.call_once(|| note!("unbloat: {words}"));
    }
    Public::of(target).map_or(Ok(()), agreed)
}

/// The shaper of another command of unbloat on the way to the server: its rates, if it says them, and that command. None if nobody may be asked.
fn own_shaper(measured: &Measured) -> Option<(Both<Option<Rate>>, String)> {
    let device = crate::route::device_to(measured.server.address?.ip()).ok()?;
    let queues = Resource::Queues {
        device: device.to_string(),
    };
    let stands = |one: &Holding| one.is_kept || one.is_alive && one.pid != std::process::id();
    let mut all = Journals::system().ok()?.holdings().ok()?.into_iter();
    let held = all.find(|one| one.resource == queues && stands(one))?;
    let plan: Option<Plan> = serde_json::from_str(&held.purpose.note).ok();
    let rates = plan.map(|plan| Both::new(plan.down, plan.up));
    Some((
        rates.unwrap_or_default(),
        format!("`{}`", one_line(&held.purpose.command)),
    ))
}

/// Whether to find the hop of the queue during the same loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locating {
    Yes,
    No,
}

/// A test that was part of another command.
pub struct Finished {
    measured: Measured,
    findings: Findings,
}

impl Finished {
    /// None if it was interrupted.
    pub fn document(&self) -> Option<Test> {
        (!self.measured.is_cut).then(|| unbloat_loadtest::document(&self.measured, &self.findings))
    }

    /// None if it was interrupted.
    pub fn verdict(self) -> Option<Verdict> {
        (!self.measured.is_cut).then_some(self.findings.verdict)
    }
}

/// Runs a test as part of another command, prints it and writes it to the run folder `name`.
pub fn once(
    args: &Args,
    options: &Options,
    #[cfg_attr(not(feature = "runs"), expect(unused_variables))] name: &str,
    locating: Locating,
    stop: &AtomicBool,
) -> Result<Finished, Failure> {
    let (measured, findings) = measure(args, options, locating, stop)?;
    if !args.json {
        print::raw(&args.text(&measured, &findings))?;
    }
    #[cfg(feature = "runs")]
    if args.writes_run() {
        let out = args.out.as_deref().map(|out| out.join(name));
        write_folder(out.as_deref(), &measured, &findings)?;
    }
    Ok(Finished { measured, findings })
}

/// Runs one of many short tests; writes nothing.
pub fn trial(args: &Args, options: &Options, stop: &AtomicBool) -> Result<Finished, Failure> {
    let (measured, findings) = measure(args, options, Locating::No, stop)?;
    Ok(Finished { measured, findings })
}

fn write(
    args: &Args,
    place: Option<usize>,
    measured: &Measured,
    #[cfg_attr(not(feature = "runs"), expect(unused_variables))] findings: &Findings,
) -> Result<(), Failure> {
    if let Some(path) = &args.flent {
        let path = numbered(path, place);
        let file = unbloat_loadtest::flent(measured);
        let made = files::create_named(&path).and_then(|mut out| out.write_all(&file));
        made.map_err(cannot("write", &path))?;
    }
    #[cfg(feature = "runs")]
    if args.writes_run() {
        let out = args.out.as_deref().map(|out| numbered(out, place));
        write_folder(out.as_deref(), measured, findings)?;
    }
    Ok(())
}

#[cfg(feature = "runs")]
fn write_folder(
    out: Option<&Path>,
    measured: &Measured,
    findings: &Findings,
) -> Result<(), Failure> {
    let rows = unbloat_loadtest::tables::rows(measured, findings);
    let dir = write_run(out, "test", &info::info(measured, findings), &rows)?;
    let path = dir.join(FINDINGS);
    let text = print::document(&unbloat_loadtest::document(measured, findings))?;
    files::replace(&path, text).map_err(cannot("write", &path))
}

/// Files of a sweep get a number before their extension.
fn numbered(path: &Path, place: Option<usize>) -> PathBuf {
    let Some(place) = place else {
        return path.to_owned();
    };
    let name = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let name = match name.split_once('.') {
        Some((stem, ending)) => format!("{stem}-{place}.{ending}"),
        None => format!("{name}-{place}"),
    };
    path.with_file_name(name)
}

fn point(options: &Options) -> String {
    let control = options
        .congestion_control
        .as_ref()
        .map(|name| format!("congestion control {name}"));
    let window = options
        .receive_window
        .map(|window| format!("receive window {window}"));
    let said: Vec<String> = control.into_iter().chain(window).collect();
    format!("unbloat: {}", said.join(", "))
}

fn worse(one: Exit, other: Exit) -> Exit {
    match one {
        Exit::Complete => other,
        _ => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_sweep_keep_their_endings() {
        let path = Path::new("a/b.flent.gz");
        assert_eq!(numbered(path, Some(2)), Path::new("a/b-2.flent.gz"));
        assert_eq!(numbered(path, None), path);
        assert_eq!(numbered(Path::new("run"), Some(0)), Path::new("run-0"));
    }
}
