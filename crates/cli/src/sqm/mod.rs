//! `unbloat sqm`: plan, apply, show and remove a shaper; check an existing configuration.

mod args;
mod document;
mod given;
mod measured;
mod place;
mod search;
mod sweep;
mod text;

pub use args::Args;
pub use document::{Checked, Planned, Removed, Status};
pub use given::Choice;

use crate::dry_run;
use crate::exit::Exit;
use crate::interface::{self, NoInterface};
use crate::loadtest::{RunTestError, StoredError};
use crate::print::{self, PrintError, note};
use crate::recovery;
use crate::route::RouteError;
use crate::shaping::{SearchError, ShapingError};
use args::{ApplyArgs, As, CheckArgs, Job, PlaceArgs, PlanArgs, RemoveArgs};
use document::Formats;
use serde::Serialize;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};
use unbloat_sqm::networkd::{self, NetworkdError};
use unbloat_sqm::uci::{self, UciError};
use unbloat_sqm::{Device, DeviceError, Plan, PlanError, Severity, check, tc};
use unbloat_sqm_host::{Held, Router, ShaperError, apply, devices, offered, remove, status};
use unbloat_undo::{Journals, Purpose, UndoError};

/// Interval between checks for a request to stop.
const NAP: Duration = Duration::from_millis(50);
/// Interval between checks of a shaper with `--hold`: each second.
const NAPS_TO_LOOK: u32 = 20;

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Interface(#[from] NoInterface),
    #[error(transparent)]
    Shaper(#[from] ShaperError),
    #[error(transparent)]
    Shaping(#[from] ShapingError),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(transparent)]
    Test(#[from] RunTestError),
    #[error(
        "the search repeats one test; give at most one congestion control and one receive window"
    )]
    Several,
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Networkd(#[from] NetworkdError),
    #[error(transparent)]
    Uci(#[from] UciError),
    #[cfg(feature = "runs")]
    #[error(transparent)]
    Run(#[from] unbloat_run::RunError),
    #[cfg(feature = "runs")]
    #[error("no rate in {run}: {wants}")]
    NoRate { run: String, wants: &'static str },
    #[error(transparent)]
    Stored(#[from] StoredError),
    #[error("{run} is not valid: {reason}; run the test again")]
    Untrusted { run: String, reason: String },
    #[cfg_attr(
        feature = "runs",
        error("no rates: give --test RUN, --analysis RUN, or --rate-down and --rate-up")
    )]
    #[cfg_attr(
        not(feature = "runs"),
        error("no rates: give --test RUN, or --rate-down and --rate-up")
    )]
    NoRates,
    #[error("the router has no default route; give --interface")]
    NoDevice,
    #[error(transparent)]
    Route(#[from] RouteError),
    #[error(
        "the kernel supports neither CAKE nor HTB; use `unbloat shape`, which shapes in user space (--qdisc own-cake prints its command)"
    )]
    NothingOffered,
    #[error("own-cake shapes only while its own process runs; start it with: {0}")]
    OwnCake(String),
    #[error(transparent)]
    Sweep(#[from] sweep::SweepError),
    #[error("{file}: {source}")]
    Config { file: String, source: UciError },
    #[error("cannot read {file}: {source}")]
    Read { file: String, source: io::Error },
    #[error(
        "{0} is no longer shaped: the device was removed or renamed, or its queue disciplines were replaced; fix this and start again"
    )]
    Replaced(String),
    #[error("cannot install the Ctrl-C handler: {0}")]
    Signal(#[from] ctrlc::Error),
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub fn run(args: &Args) -> Result<Exit, CommandError> {
    match &args.job {
        Job::Plan(args) => plan(args),
        Job::Search(args) => search::run(args),
        Job::Check(args) => judge(args),
        Job::Apply(args) => put(args),
        Job::Status(args) => look(args),
        Job::Remove(args) => take_away(args),
    }
}

fn print_json(document: &impl Serialize) -> Result<(), CommandError> {
    Ok(print::raw(&print::document(document)?)?)
}

/// Prints the plan in the requested format; changes nothing.
fn plan(args: &PlanArgs) -> Result<Exit, CommandError> {
    let site = match args.form {
        As::Uci => place::Site::Openwrt,
        As::Tc | As::Networkd => place::Site::Here,
    };
    let plan = place::plan(&args.given, site)?;
    if args.json {
        print_json(&planned(&plan))?;
        return Ok(Exit::Complete);
    }
    note!("{}", text::plan(&plan));
    tell(&plan, args.form)?;
    Ok(Exit::Complete)
}

fn tell(plan: &Plan, form: As) -> Result<(), CommandError> {
    match form {
        As::Tc => print::raw(&tc::text(&tc::commands(plan)))?,
        As::Uci => print::raw(&uci::write(&[uci::section_of(plan)?]))?,
        As::Networkd => {
            let of_device = network_file(plan);
            for file in networkd::files(plan, of_device.as_deref())? {
                print::raw(&format!("# {}\n{}\n", file.path, file.text))?;
            }
        }
    }
    Ok(())
}

/// The file with which systemd-networkd configures the device of this host, if it does.
fn network_file(plan: &Plan) -> Option<String> {
    let device = Path::new("/sys/class/net").join(plan.device.as_str());
    let index = std::fs::read_to_string(device.join("ifindex")).ok()?;
    let link = Path::new("/run/systemd/netif/links").join(index.trim());
    let state = std::fs::read_to_string(link).ok()?;
    let file = state
        .lines()
        .find_map(|line| line.strip_prefix("NETWORK_FILE="))?;
    Some(file.to_owned())
}

fn planned(plan: &Plan) -> Planned<'_> {
    Planned {
        plan: Some(plan),
        formats: Some(formats(plan)),
        search: None,
    }
}

fn formats(plan: &Plan) -> Formats {
    let section = uci::section_of(plan).ok();
    Formats {
        commands: tc::commands(plan),
        removal: tc::removal(plan),
        uci: section.map(|section| uci::write(&[section])),
        networkd: networkd::files(plan, network_file(plan).as_deref()).ok(),
    }
}

fn judge(args: &CheckArgs) -> Result<Exit, CommandError> {
    let (sections, facts) = place::config(args)?;
    let findings = check(&sections, &facts);
    match args.json {
        true => print_json(&Checked {
            findings: &findings,
        })?,
        false => print::text(&text::findings(&findings))?,
    }
    let is_wrong = findings.iter().any(|f| f.severity == Severity::Wrong);
    Ok(if is_wrong {
        Exit::OutOfBounds
    } else {
        Exit::Complete
    })
}

fn put(args: &ApplyArgs) -> Result<Exit, CommandError> {
    match &args.router {
        Some(target) => put_there(&Router::new(target.clone()), args),
        None => put_here(args),
    }
}

fn put_there(router: &Router, args: &ApplyArgs) -> Result<Exit, CommandError> {
    let look = router.look()?;
    let plan = place::plan(&args.given, place::Site::Router(&look))?;
    note!("{}", text::plan(&plan));
    if !args.dry_run {
        router.apply(look.kind, &plan)?;
        note!(
            "unbloat: {} now shapes {}; to remove it: unbloat sqm remove --router {0}",
            router.target(),
            plan.device
        );
    }
    tell_applied(args, &plan)
}

fn put_here(args: &ApplyArgs) -> Result<Exit, CommandError> {
    let plan = place::plan(&args.given, place::Site::Here)?;
    note!("{}", text::plan(&plan));
    if plan.qdisc == unbloat_sqm::Qdisc::OwnCake {
        return Err(CommandError::OwnCake(
            tc::text(&tc::commands(&plan)).trim().to_owned(),
        ));
    }
    if args.dry_run {
        return tell_applied(args, &plan);
    }
    // Must precede threads and claims.
    let _guard = recovery::guarded()?;
    let journals = recovery::journals()?;
    let stop = crate::stop::stop_on_ctrl_c()?;
    let held = apply(&journals, &plan, &Purpose::this_command().command)?;
    tell_applied(args, &plan)?;
    let end = args
        .confirm
        .map(|span| Instant::now() + Duration::from_secs_f64(span.as_secs()));
    let is_stopped = || stop.load(Ordering::Relaxed);
    if args.hold {
        note!("unbloat: shaping {} until Ctrl-C", plan.device);
        let mut naps = 0;
        while !is_stopped() {
            sleep(NAP);
            naps += 1;
            if naps % NAPS_TO_LOOK == 0 && !held.stands() {
                held.release()?;
                return Err(CommandError::Replaced(plan.device.to_string()));
            }
        }
        held.release()?;
        return Ok(Exit::Complete);
    }
    match end {
        None if is_stopped() => {
            held.release()?;
            note!("unbloat: stopped; the previous configuration is restored");
            Ok(Exit::Interrupted)
        }
        None => keep(held, &plan.device),
        Some(end) => confirmed(held, &plan.device, end, is_stopped),
    }
}

/// Prints how to remove the shaper before giving up the automatic rollback.
fn keep(held: Held, device: &Device) -> Result<Exit, CommandError> {
    note!("unbloat: shaping {device}; to remove it: unbloat sqm remove --interface {device}");
    held.keep()?;
    Ok(Exit::Complete)
}

/// Keeps the shaper if Enter is pressed in time.
fn confirmed(
    held: Held,
    device: &Device,
    end: Instant,
    is_stopped: impl Fn() -> bool,
) -> Result<Exit, CommandError> {
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        let _ = sender.send(read.is_ok_and(|bytes| bytes > 0));
    });
    note!("unbloat: press Enter to keep the shaper; otherwise it will be removed");
    while Instant::now() < end && !is_stopped() {
        match lines.recv_timeout(NAP) {
            Ok(true) => return keep(held, device),
            Ok(false) => break,
            Err(_) => {}
        }
    }
    held.release()?;
    note!("unbloat: not confirmed; the previous configuration is restored");
    Ok(Exit::Interrupted)
}

fn tell_applied(args: &ApplyArgs, plan: &Plan) -> Result<Exit, CommandError> {
    if args.json {
        print_json(&planned(plan))?;
    } else if args.dry_run {
        print::raw(&tc::text(&tc::commands(plan)))?;
    }
    Ok(Exit::Complete)
}

fn look(args: &PlaceArgs) -> Result<Exit, CommandError> {
    if let Some(target) = &args.router {
        let router = Router::new(target.clone());
        let look = router.look()?;
        let device = place::device(args.interface.as_ref(), Some(&look))?;
        let (is_ours, queues) = router.status(look.kind, &device)?;
        match args.json {
            true => print_json(&Status::Router {
                router: &look,
                device: &device,
                ours: is_ours,
                queues: &queues,
            })?,
            false => print::text(&text::queues(
                &device,
                is_ours.then_some("unbloat"),
                &queues,
            ))?,
        }
        return Ok(Exit::Complete);
    }
    let journals = recovery::journals()?;
    let devices = match &args.interface {
        Some(device) => {
            interface::check(device.as_str())?;
            vec![device.clone()]
        }
        None => devices(&journals)?,
    };
    let mut all = Vec::new();
    for device in &devices {
        all.push(status(&journals, device)?);
    }
    match args.json {
        true => print_json(&Status::Here {
            offered: offered()?,
            devices: &all,
        })?,
        false if all.is_empty() => note!("unbloat: unbloat shapes no device of this host"),
        false => {
            for shaped in &all {
                print::text(&text::queues(
                    &shaped.device,
                    shaped.command.as_deref(),
                    &shaped.queues,
                ))?;
            }
        }
    }
    Ok(Exit::Complete)
}

fn take_away(args: &RemoveArgs) -> Result<Exit, CommandError> {
    if args.dry_run {
        return would_take_away(&args.place);
    }
    let args = &args.place;
    let (device, is_done) = match &args.router {
        Some(target) => {
            let router = Router::new(target.clone());
            let look = router.look()?;
            let device = place::device(args.interface.as_ref(), Some(&look))?;
            let is_done = router.remove(look.kind, &device)?;
            (device, is_done)
        }
        None => {
            let _guard = recovery::guarded()?;
            let journals = recovery::journals()?;
            let device: Device = place::device(args.interface.as_ref(), None)?;
            let is_done = remove(&journals, &device)?;
            (device, is_done)
        }
    };
    if args.json {
        print_json(&Removed {
            device: &device,
            removed: is_done,
        })?;
    }
    match is_done {
        true => note!("unbloat: the previous configuration of {device} is restored"),
        false => note!("unbloat: {device} was not shaped by unbloat"),
    }
    Ok(Exit::Complete)
}

/// Changes nothing, not even what killed commands left.
fn would_take_away(args: &PlaceArgs) -> Result<Exit, CommandError> {
    let (device, is_ours) = match &args.router {
        Some(target) => {
            let router = Router::new(target.clone());
            let look = router.look()?;
            let device = place::device(args.interface.as_ref(), Some(&look))?;
            let (is_ours, _) = router.status(look.kind, &device)?;
            (device, is_ours)
        }
        None => {
            let device = place::device(args.interface.as_ref(), None)?;
            let is_ours = devices(&Journals::system()?)?.contains(&device);
            (device, is_ours)
        }
    };
    if !is_ours {
        note!("unbloat: {device} was not shaped by unbloat");
    }
    let steps = is_ours.then(|| format!("restore the previous configuration of {device}"));
    dry_run::print(&Vec::from_iter(steps), args.json)?;
    Ok(Exit::Complete)
}
