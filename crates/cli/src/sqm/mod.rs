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
use crate::exit::{Exit, Failure};
use crate::interface::{self};
use crate::keep::{self, Cure, Keep, Kept, Written};
use crate::print::{self, note};
use crate::recovery;
use args::{ApplyArgs, As, CheckArgs, Job, PlaceArgs, PlanArgs, RemoveArgs};
use document::Formats;
use serde::Serialize;
use std::io;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};
use unbloat_os::privilege::{Capability, may};
use unbloat_sqm::networkd::{self};
use unbloat_sqm::uci::{self};
use unbloat_sqm::{Device, Plan, Severity, check, tc};
use unbloat_sqm_host::{Held, Kind, Router, ShaperError, apply, devices, offered, remove, status};
use unbloat_undo::{Journals, Purpose};

/// Interval between checks for a request to stop.
const NAP: Duration = Duration::from_millis(50);
/// Interval between checks of a shaper with `--hold`: each second.
const NAPS_TO_LOOK: u32 = 20;

pub fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.job {
        Job::Plan(args) => plan(args),
        Job::Search(args) => search::run(args),
        Job::Check(args) => judge(args),
        Job::Apply(args) => put(args),
        Job::Status(args) => look(args),
        Job::Remove(args) => take_away(args),
    }
}

fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    Ok(print::raw(&print::document(document)?)?)
}

/// Prints the plan in the requested format; changes nothing.
fn plan(args: &PlanArgs) -> Result<Exit, Failure> {
    let site = match args.form {
        As::Uci => place::Site::Openwrt,
        As::Tc | As::Networkd => place::Site::Here,
    };
    let plan = place::plan(&args.given, site)?;
    if args.json {
        print_json(&planned(&plan, None))?;
        return Ok(Exit::Complete);
    }
    note!("{}", text::plan(&plan));
    tell(&plan, args.form)?;
    Ok(Exit::Complete)
}

fn tell(plan: &Plan, form: As) -> Result<(), Failure> {
    match form {
        As::Tc => print::raw(&tc::text(&tc::commands(plan)))?,
        As::Uci => print::raw(&uci::write(&[uci::section_of(plan)?]))?,
        As::Networkd => {
            let of_device = keep::network_file(&plan.device);
            for file in networkd::files(plan, of_device.as_deref())? {
                print::raw(&format!("# {}\n{}\n", file.path, file.text))?;
            }
        }
    }
    Ok(())
}

fn planned<'a>(plan: &'a Plan, keep: Option<&'a Keep>) -> Planned<'a> {
    Planned {
        plan: Some(plan),
        formats: Some(formats(plan)),
        search: None,
        keep,
    }
}

fn formats(plan: &Plan) -> Formats {
    let section = uci::section_of(plan).ok();
    Formats {
        commands: tc::commands(plan),
        removal: tc::removal(plan),
        uci: section.map(|section| uci::write(&[section])),
        networkd: networkd::files(plan, keep::network_file(&plan.device).as_deref()).ok(),
    }
}

fn judge(args: &CheckArgs) -> Result<Exit, Failure> {
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

fn put(args: &ApplyArgs) -> Result<Exit, Failure> {
    if let Some(target) = &args.router {
        return put_there(&Router::new(target.clone()), args);
    }
    // OpenWrt keeps its configuration, and applies it at each start.
    match args.keep.then(Router::here).flatten() {
        Some(here) => put_there(&here, args),
        None => put_here(args),
    }
}

fn put_there(router: &Router, args: &ApplyArgs) -> Result<Exit, Failure> {
    let look = router.look()?;
    if args.keep && look.kind != Kind::OpenWrt {
        let target = router.target().to_string();
        return Err(format!("cannot keep the shaper of {target} after a reboot: it has no OpenWrt with sqm-scripts; run `unbloat sqm apply --keep` on the router itself, or install the files that `unbloat sqm plan --as networkd` prints").into());
    }
    let plan = place::plan(&args.given, place::Site::Router(&look))?;
    note!("{}", text::plan(&plan));
    if args.keep {
        note!("unbloat: kept after a reboot by OpenWrt's sqm-scripts: they are installed");
    }
    if args.dry_run && args.keep && !args.json {
        let section = uci::write(&[uci::section_of(&plan)?]);
        print::text(&format!("# /etc/config/sqm\n{section}"))?;
        return Ok(Exit::Complete);
    }
    if !args.dry_run {
        router.apply(&look, &plan)?;
        note!(
            "unbloat: {} now shapes {}; to remove it: {}",
            router.target(),
            plan.device,
            router.removal(&plan.device)
        );
    }
    tell_applied(args, &plan, None)
}

fn put_here(args: &ApplyArgs) -> Result<Exit, Failure> {
    if !args.dry_run && !may(Capability::NetAdmin) {
        return Err(ShaperError::NoRight.into());
    }
    let plan = place::plan(&args.given, place::Site::Here)?;
    note!("{}", text::plan(&plan));
    let cure = Cure {
        device: &plan.device,
        plan: Some(&plan),
        follows: false,
        rtt: plan.rtt,
        holds_window: false,
    };
    let keep = args.keep.then(|| Keep::of(&cure)).transpose()?;
    if keep.is_none() && plan.qdisc == unbloat_sqm::Qdisc::OwnCake {
        return Err(format!(
            "own-cake shapes only while its own process runs; start it with: {}",
            tc::text(&tc::commands(&plan)).trim()
        )
        .into());
    }
    if args.dry_run {
        return tell_applied(args, &plan, keep.as_ref());
    }
    // Must precede threads and claims.
    let _guard = recovery::guarded()?;
    let journals = recovery::journals()?;
    let stop = crate::stop::stop_on_ctrl_c()?;
    let placed = Placed::begin(&journals, &plan, keep.as_ref())?;
    tell_applied(args, &plan, keep.as_ref())?;
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
            if naps % NAPS_TO_LOOK == 0 && !placed.stands() {
                placed.release()?;
                return Err(format!("{} is no longer shaped: the device was removed or renamed, or its queue disciplines were replaced; fix this and start again", plan.device).into());
            }
        }
        placed.release()?;
        return Ok(Exit::Complete);
    }
    match end {
        None if is_stopped() => {
            placed.release()?;
            note!("unbloat: stopped; the previous configuration is restored");
            Ok(Exit::Interrupted)
        }
        None => placed.keep(&plan.device),
        Some(end) => confirmed(placed, &plan.device, end, is_stopped),
    }
}

/// A shaper, and the files by which it returns after a reboot. Dropped, both are gone.
struct Placed {
    /// None: a unit put it in place.
    held: Option<Held>,
    written: Option<Written>,
}

impl Placed {
    fn begin(journals: &Journals, plan: &Plan, keep: Option<&Keep>) -> Result<Placed, Failure> {
        let held = match keep {
            Some(_) => None,
            None => Some(apply(journals, plan, &Purpose::this_command().command)?),
        };
        Ok(Placed {
            written: keep.map(|keep| keep.write(journals)).transpose()?,
            held,
        })
    }

    fn stands(&self) -> bool {
        self.held.as_ref().is_none_or(Held::stands)
    }

    fn release(self) -> Result<(), Failure> {
        self.written.map_or(Ok(()), Written::release)?;
        Ok(self.held.map_or(Ok(()), Held::release)?)
    }

    /// Prints how to remove the shaper before giving up the automatic rollback.
    fn keep(self, device: &Device) -> Result<Exit, Failure> {
        let also = match self.written {
            Some(_) => ", also after a reboot",
            None => "",
        };
        note!(
            "unbloat: shaping {device}{also}; to remove it: unbloat sqm remove --interface {device}"
        );
        self.written.map_or(Ok(()), Written::keep)?;
        self.held.map_or(Ok(()), Held::keep)?;
        Ok(Exit::Complete)
    }
}

/// Keeps the shaper if Enter is pressed in time.
fn confirmed(
    placed: Placed,
    device: &Device,
    end: Instant,
    is_stopped: impl Fn() -> bool,
) -> Result<Exit, Failure> {
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        let _ = sender.send(read.is_ok_and(|bytes| bytes > 0));
    });
    note!("unbloat: press Enter to keep the shaper; otherwise it will be removed");
    while Instant::now() < end && !is_stopped() {
        match lines.recv_timeout(NAP) {
            Ok(true) => return placed.keep(device),
            Ok(false) => break,
            Err(_) => {}
        }
    }
    placed.release()?;
    note!("unbloat: not confirmed; the previous configuration is restored");
    Ok(match is_stopped() {
        true => Exit::Interrupted,
        false => Exit::OutOfBounds,
    })
}

fn tell_applied(args: &ApplyArgs, plan: &Plan, keep: Option<&Keep>) -> Result<Exit, Failure> {
    if args.json {
        print_json(&planned(plan, keep))?;
    } else if let Some(keep) = keep {
        print::text(&keep.text())?;
    } else if args.dry_run {
        print::raw(&tc::text(&tc::commands(plan)))?;
    }
    Ok(Exit::Complete)
}

fn look(args: &PlaceArgs) -> Result<Exit, Failure> {
    if let Some(target) = &args.router {
        let router = Router::new(target.clone());
        let look = router.look()?;
        let device = place::of_line(args.interface.as_ref(), Some(&look))?;
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
                if is_ours {
                    "shaped by unbloat"
                } else {
                    text::NOT_OURS
                },
                &queues,
            ))?,
        }
        return Ok(Exit::Complete);
    }
    // What unbloat made, only root can tell.
    let journals = may(Capability::NetAdmin)
        .then(recovery::journals)
        .transpose()?;
    let (devices, kept) = match &journals {
        Some(journals) => shaped_here(journals, args.interface.as_ref())?,
        None => {
            let device = place::of_line(args.interface.as_ref(), None)?;
            interface::check(device.as_str())?;
            (vec![device], Vec::new())
        }
    };
    let mut all = Vec::new();
    for device in &devices {
        all.push(status(journals.as_ref(), device)?);
    }
    match args.json {
        true => print_json(&Status::Here {
            offered: may(Capability::SysAdmin).then(offered).transpose()?,
            devices: &all,
            kept: &kept,
        })?,
        false if all.is_empty() && kept.is_empty() => {
            note!("unbloat: unbloat shapes no device of this host");
        }
        false => {
            for shaped in &all {
                let of_boot = kept.iter().find(|it| it.device == shaped.device);
                let by = shaped.command.as_ref();
                let by = by.or(of_boot.map(|it| &it.command));
                let by = match (by, &journals) {
                    (Some(by), _) => text::shaped_by(by),
                    (None, Some(_)) => text::NOT_OURS.to_owned(),
                    (None, None) => "only root can tell by whom it is shaped".to_owned(),
                };
                print::text(&text::queues(&shaped.device, &by, &shaped.queues))?;
            }
            for it in &kept {
                print::text(&text::kept(it))?;
            }
        }
    }
    Ok(Exit::Complete)
}

/// The devices to show, and what is applied after a reboot.
fn shaped_here(
    journals: &Journals,
    named: Option<&Device>,
) -> Result<(Vec<Device>, Vec<Kept>), Failure> {
    let mut kept = keep::kept(journals)?;
    if let Some(device) = named {
        kept.retain(|it| it.device == *device);
        if kept.is_empty() {
            interface::check(device.as_str())?;
        }
        return Ok((vec![device.clone()], kept));
    }
    Ok((devices(journals)?, kept))
}

fn take_away(args: &RemoveArgs) -> Result<Exit, Failure> {
    if args.dry_run {
        return would_take_away(args);
    }
    let place = &args.place;
    let (device, is_done, was_kept) = match router_of(args)? {
        Some(router) => {
            let look = router.look()?;
            let device = place::of_line(place.interface.as_ref(), Some(&look))?;
            let is_done = router.remove(look.kind, &device)?;
            (device, is_done, is_done && look.kind == Kind::OpenWrt)
        }
        None => {
            let _guard = recovery::guarded()?;
            let journals = recovery::journals()?;
            let device: Device = place::of_line(place.interface.as_ref(), None)?;
            let was_kept = match args.until_reboot {
                true => false,
                false => keep::take_back(&journals, &device)?,
            };
            let is_done = remove(&journals, &device)? || was_kept;
            (device, is_done, was_kept && !args.until_reboot)
        }
    };
    if place.json {
        print_json(&Removed {
            device: &device,
            removed: is_done,
            was_kept,
        })?;
    }
    match is_done {
        true => note!("unbloat: the previous configuration of {device} is restored"),
        false => note!("unbloat: {device} was not shaped by unbloat"),
    }
    if was_kept {
        note!("unbloat: {device} will not be shaped after a reboot");
    }
    Ok(Exit::Complete)
}

/// The router that is given; or this host, if its configuration has the shaper.
fn router_of(args: &RemoveArgs) -> Result<Option<Router>, Failure> {
    if let Some(target) = &args.place.router {
        return Ok(Some(Router::new(target.clone())));
    }
    let Some(here) = Router::here().filter(|_| !args.until_reboot) else {
        return Ok(None);
    };
    let device = place::of_line(args.place.interface.as_ref(), None)?;
    Ok(here.keeps(&device).then_some(here))
}

/// Changes nothing, not even what killed commands left.
fn would_take_away(args: &RemoveArgs) -> Result<Exit, Failure> {
    let place = &args.place;
    let mut steps = Vec::new();
    let (device, is_ours) = match router_of(args)? {
        Some(router) => {
            let look = router.look()?;
            let device = place::of_line(place.interface.as_ref(), Some(&look))?;
            let (is_ours, _) = router.status(look.kind, &device)?;
            (device, is_ours)
        }
        None => {
            let device = place::of_line(place.interface.as_ref(), None)?;
            let journals = Journals::system()?;
            let mut all = keep::kept(&journals)?.into_iter();
            let kept = all.find(|kept| kept.device == device);
            if let Some(kept) = kept.filter(|_| !args.until_reboot) {
                let files = kept.files.into_iter();
                steps.extend(files.map(|file| format!("remove {file}")));
            }
            let is_ours = devices(&journals)?.contains(&device) || !steps.is_empty();
            (device, is_ours)
        }
    };
    if !is_ours {
        note!("unbloat: {device} was not shaped by unbloat");
    }
    let restore = format!("restore the previous configuration of {device}");
    steps.extend(is_ours.then_some(restore));
    dry_run::print(&steps, place.json)?;
    Ok(Exit::Complete)
}
