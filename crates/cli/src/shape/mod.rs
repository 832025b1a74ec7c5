//! `unbloat shape`: CAKE in user space on one interface.

mod args;
mod line;
mod told;
mod unseen;

pub use args::{Args, following, of_plan};
pub use line::{DecisionLine, Line, decision_text};
pub use told::Told;

use crate::confine::{Calls, SEES_PACKETS, confine_calls, drop_capabilities};
use crate::dry_run;
use crate::exit::{Exit, Failure};
use crate::print::{self, note};
use crate::recovery;
use crate::span::stop_after;
use crate::stop::stop_on_ctrl_c;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use unbloat_cake_nfqueue::{Event, Shaper, steps};
use unbloat_os::stacked::stacked;
use unbloat_undo::{Claim, Purpose, Resource, is_device};
use unseen::Unseen;

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let options = args.options();
    see_all(&options.interface)?;
    if args.dry_run {
        dry_run::print(&steps(&options)?, args.json)?;
        return Ok(Exit::Complete);
    }
    // Must precede threads and claims.
    let _guard = recovery::guarded()?;
    recovery::journals()?;
    drop_capabilities(SEES_PACKETS);
    // The kernel undoes everything. The claim keeps other commands from changing the same queues.
    let queues = Resource::Queues {
        device: options.interface.clone(),
    };
    let _claim = Claim::take(&queues, &Purpose::this_command())?;
    let stop = stop_on_ctrl_c()?;
    let board = args.metrics.board("shape")?;
    let mut told = Told::default();
    if let Some(board) = &board {
        board.put(told.page());
    }
    let mut shaper = Shaper::start(&options)?;
    confine_calls(Calls::Sockets);
    note!("unbloat: shaping {} until Ctrl-C", options.interface);
    if let Some(span) = args.duration {
        stop_after(span, &stop);
    }
    let watched = Arc::clone(&stop);
    let mut unread = None;
    let mut was_there = true;
    let mut unseen = Unseen::new(&options.interface);
    let mut tell = |event: Event| {
        // If the kernel does not answer, assume no change.
        let is_there = is_device(&options.interface).unwrap_or(was_there);
        if is_there != was_there {
            was_there = is_there;
            note!("unbloat: {}", change(&options.interface, is_there));
        }
        if let Some(why) = unseen.look(&event) {
            note!("unbloat: {why}");
        }
        if let Some(board) = &board {
            told.event(&event);
            board.put(told.page());
        }
        let printed = match args.json {
            true => print::json(&Line::of(&event)),
            false => print::line(line::text(&event)),
        };
        // The reader is gone: stop.
        if let Err(error) = printed {
            unread = Some(error);
            watched.store(true, Ordering::Relaxed);
        }
    };
    shaper.run(&stop, &mut tell)?;
    unread.map_or(Ok(Exit::Complete), |error| Err(error.into()))
}

/// Refuses a device whose packets have another name, and names devices whose packets pass beside it.
fn see_all(interface: &str) -> Result<(), Failure> {
    // A device that is not there is refused with its own words later.
    let Ok(true) = is_device(interface) else {
        return Ok(());
    };
    let stacked = stacked(interface)
        .map_err(|source| format!("cannot ask the kernel about {interface}: {source}"))?;
    if let Some(master) = stacked.master {
        return Err(format!("{interface} is a port of {master}: its packets are those of {master} by the time they are shaped; use --interface {master}").into());
    }
    if !stacked.above.is_empty() {
        note!(
            "unbloat: traffic of {} passes {interface} unshaped; `unbloat sqm` shapes all that passes the device",
            stacked.above.join(", ")
        );
    }
    Ok(())
}

/// The rules match by name, so a device that returns or gets the name is shaped.
fn change(interface: &str, is_there: bool) -> String {
    match is_there {
        true => format!("{interface} is back and is shaped again"),
        false => {
            format!("interface \"{interface}\" no longer exists; shaping resumes when it does")
        }
    }
}
