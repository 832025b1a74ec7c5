//! `unbloat shape`: CAKE in user space on one interface.

mod args;
mod line;

pub use args::{Args, following, of_plan, seconds};
pub use line::{decision_json, decision_text};

use crate::exit::Exit;
use crate::print::{self, PrintError, note};
use crate::recovery;
use crate::stop::stop_on_ctrl_c;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use unbloat_shape::{Event, ShapeError, Shaper};
use unbloat_undo::{Claim, Purpose, Resource, UndoError, is_device};

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("Ctrl-C cannot be caught: {0}")]
    Signal(#[from] ctrlc::Error),
    #[error("nothing to do: give --down, --up or --follow")]
    Nothing,
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub fn run(args: &Args) -> Result<Exit, CommandError> {
    let options = args.options().ok_or(CommandError::Nothing)?;
    // Before there are threads or claims.
    let _guard = recovery::guarded()?;
    recovery::journals()?;
    // Nothing has to be undone, the kernel does that; but nobody else is to change the same queues.
    let queues = Resource::Queues {
        device: options.interface.clone(),
    };
    let _claim = Claim::take(&queues, &Purpose::this_command())?;
    let stop = stop_on_ctrl_c()?;
    let mut shaper = Shaper::start(&options)?;
    note!("unbloat: shaping {} until Ctrl-C", options.interface);
    if let Some(seconds) = args.seconds {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs_f64(seconds));
            stop.store(true, Ordering::Relaxed);
        });
    }
    let watched = Arc::clone(&stop);
    let mut unread = None;
    let mut was_there = true;
    let mut tell = |event: Event| {
        // Where the kernel does not say, nothing has changed.
        let is_there = is_device(&options.interface).unwrap_or(was_there);
        if is_there != was_there {
            was_there = is_there;
            note!("unbloat: {}", change(&options.interface, is_there));
        }
        let text = match args.json {
            true => line::json(&event),
            false => line::text(&event),
        };
        // Who reads is gone: so is the reason to go on.
        if let Err(error) = print::line(text) {
            unread = Some(error);
            watched.store(true, Ordering::Relaxed);
        }
    };
    shaper.run(&stop, &mut tell)?;
    unread.map_or(Ok(Exit::Complete), |error| Err(error.into()))
}

/// The rules are by name: a device that comes back, or gets the name, is shaped.
fn change(interface: &str, is_there: bool) -> String {
    match is_there {
        true => format!("{interface} is there again, and shaped"),
        false => format!(
            "no interface is named \"{interface}\" any longer: nothing is shaped until one is"
        ),
    }
}
