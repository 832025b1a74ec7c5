//! `unbloat autorate`: adjusts the rates of the kernel's shapers to the line.

mod args;

pub use args::Args;

use crate::confine::{SEES_PACKETS, drop_capabilities};
use crate::exit::{Exit, Failure};
use crate::print::{self, note};
use crate::recovery;
use crate::shape::{DecisionLine, Told, decision_text};
use crate::span::stop_after;
use crate::stop::stop_on_ctrl_c;
use crate::unit;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use unbloat_autorate::Decision;
use unbloat_autorate_host::{Options, Shaper, Source, Steer, SteerError, Tap, by_wall_clock};
use unbloat_undo::{Claim, Purpose, Resource, Step, UndoError};

pub fn run(args: &Args) -> Result<Exit, Failure> {
    if args.unit {
        print::raw(&unit::repeated(args::UNIT, std::env::args().skip(1)))?;
        return Ok(Exit::Complete);
    }
    let options = args.options()?;
    // Must run before the first thread and the first claim.
    let _guard = (!options.dry_run).then(recovery::guarded).transpose()?;
    drop_capabilities(SEES_PACKETS);
    let stop = stop_on_ctrl_c()?;
    if let Some(span) = args.duration {
        stop_after(span, &stop);
    }
    // Released after the shapers' rates are restored.
    let claims = claims(&options)?;
    let lend = |command: &mut Command| claims.iter().for_each(|claim| claim.lend(command));
    let board = args.metrics.board("autorate")?;
    let mut told = Told::default();
    if let Some(board) = &board {
        board.put(told.page());
    }
    let mut steer = Steer::start(&options, &lend)?;
    let source = steer.tap().source();
    note!("unbloat: {}", following(&options.interface, steer.tap()));
    let watched = Arc::clone(&stop);
    let mut unread = None;
    let mut tell = |decision: &Decision| {
        if let Some(board) = &board {
            told.decision(decision);
            board.put(told.page());
        }
        let printed = match args.json {
            true => print::json(&DecisionLine::of(&shown(decision), Some(source))),
            false => print::line(decision_text(decision)),
        };
        // Stop when standard output has no reader any more.
        if let Err(error) = printed {
            unread = Some(error);
            watched.store(true, Ordering::Relaxed);
        }
    };
    let ended = steer.run(&stop, &mut tell);
    drop(steer);
    if let Err(SteerError::Changed { device }) = &ended {
        give_up(claims, device)?;
    }
    ended?;
    unread.map_or(Ok(Exit::Complete), |error| Err(error.into()))
}

/// Gives up what is another program's now, so that nothing of it is put back; the rest is undone.
fn give_up(claims: Vec<Claim>, device: &str) -> Result<(), UndoError> {
    for claim in claims {
        let is_its = matches!(claim.resource(), Resource::Device { device: its } if its == device);
        if is_its {
            claim.give_up()?;
        }
    }
    Ok(())
}

fn following(interface: &str, tap: &Tap) -> String {
    let how = match tap.source() {
        Source::Bpf => "in the kernel (bpf)",
        Source::Packets => "packet by packet (packets)",
    };
    let why = tap.refused().map(|error| format!("; {error}"));
    format!(
        "observing {interface} {how} until Ctrl-C{}",
        why.unwrap_or_default()
    )
}

/// The decision with its time on the wall clock.
fn shown(decision: &Decision) -> Decision {
    Decision {
        at: by_wall_clock(decision.at),
        ..*decision
    }
}

/// Claims the devices and records the state of their shapers.
///
/// The claim of a shaper that `sqm apply` left in place is held while this runs, so that nothing removes the shaper meanwhile.
fn claims(options: &Options) -> Result<Vec<Claim>, UndoError> {
    if options.dry_run {
        return Ok(Vec::new());
    }
    recovery::journals()?;
    let shaped = || options.shapers.iter().flatten().map(Shaper::device);
    let devices: BTreeSet<&str> = shaped().chain([options.interface.as_str()]).collect();
    let mut claims = Vec::new();
    for device in devices {
        claims.push(queues(device)?);
    }
    for shaper in options.shapers.iter().flatten() {
        let device = shaper.device();
        let resource = Resource::Device {
            device: device.to_owned(),
        };
        let mut claim = Claim::take(&resource, &Purpose::this_command())?;
        for step in [Step::classes(device), Step::root(device)] {
            match step {
                Ok(step) => claim.before(step)?,
                // Class trees cannot be recreated; restoring their rates is enough. A size table is lost when the rate of its cake changes.
                Err(UndoError::CannotSave { .. }) if shaper.has_classes() => {}
                Err(error) => return Err(error),
            }
        }
        claims.push(claim);
    }
    Ok(claims)
}

fn queues(device: &str) -> Result<Claim, UndoError> {
    let resource = Resource::Queues {
        device: device.to_owned(),
    };
    match Claim::kept(&resource)? {
        Some(kept) => Ok(kept),
        None => Claim::take(&resource, &Purpose::this_command()),
    }
}
