//! `unbloat watch`: shows where packets of this host wait.

mod args;
mod text;

pub use args::Args;

use crate::events::Silence;
use crate::exit::Exit;
use crate::interface::{self, NoInterface};
use crate::print::{self, PrintError, note};
use crate::span::duration;
use crate::stop::stop_on_ctrl_c;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use unbloat_tui::Screen;
use unbloat_tui::host::{HostLive, draw_host, host_line};
use unbloat_watch::{Layers, Watch, WatchError};

/// Interval between checks for a request to stop.
const NAP: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Interface(#[from] NoInterface),
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error("cannot install the Ctrl-C handler: {0}")]
    Signal(#[from] ctrlc::Error),
    #[error("cannot use the terminal: {0}")]
    Write(#[from] io::Error),
    #[error(
        "the live view needs a terminal on standard input and standard error; use --json or --once instead"
    )]
    NoTerminal,
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub fn run(args: &Args) -> Result<Exit, CommandError> {
    let has_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if !args.json && !args.once && !has_terminal {
        return Err(CommandError::NoTerminal);
    }
    let options = args.options();
    options
        .filter
        .interface
        .as_deref()
        .map_or(Ok(()), interface::check)?;
    let stop = stop_on_ctrl_c()?;
    let watch = Watch::open(&options)?;
    let blind = watch.blind().map(ToString::to_string);
    if let (Some(why), true) = (&blind, args.json || args.once) {
        note!("unbloat: waits are estimated from kernel statistics, not measured: {why}");
    }
    let looks = Looks {
        watch,
        every: args.every(),
        end: args.duration.map(|span| Instant::now() + duration(span)),
    };
    match (args.json, args.once) {
        (true, _) => lines(looks, args.once, blind.is_none(), &stop),
        (false, true) => once(looks, &stop),
        (false, false) => screen(looks, blind, &stop),
    }
}

/// The samples, and their schedule.
struct Looks {
    watch: Watch,
    every: Duration,
    end: Option<Instant>,
}

impl Looks {
    /// Waits with `nap`, which returns whether to stop, and takes the next sample. None at the end.
    fn next(
        &mut self,
        mut nap: impl FnMut(Duration) -> io::Result<bool>,
    ) -> Result<Option<Layers>, CommandError> {
        let mut due = Instant::now() + self.every;
        if let Some(end) = self.end {
            if Instant::now() >= end {
                return Ok(None);
            }
            due = due.min(end);
        }
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Some(self.watch.look()?));
            }
            if nap(left.min(NAP))? {
                return Ok(None);
            }
        }
    }
}

/// Prints one JSON line per sample, until the reader closes the pipe.
fn lines(
    mut looks: Looks,
    once: bool,
    is_measured: bool,
    stop: &AtomicBool,
) -> Result<Exit, CommandError> {
    while let Some(layers) = looks.next(|span| Ok(rest(span, stop)))? {
        print::line(host_line(&layers, is_measured))?;
        if once {
            break;
        }
    }
    Ok(Exit::Complete)
}

fn once(mut looks: Looks, stop: &AtomicBool) -> Result<Exit, CommandError> {
    let Some(layers) = looks.next(|span| Ok(rest(span, stop)))? else {
        return Ok(Exit::Interrupted);
    };
    print::text(&text::text(&layers))?;
    Ok(Exit::Complete)
}

fn screen(
    mut looks: Looks,
    blind: Option<String>,
    stop: &AtomicBool,
) -> Result<Exit, CommandError> {
    let _silence = Silence::begin();
    let mut screen = Screen::open()?;
    let mut live = HostLive::new("unbloat watch", blind);
    screen.draw(|frame| draw_host(&live, frame))?;
    while let Some(layers) =
        looks.next(|span| Ok(screen.asks_to_end(span)? || stop.load(Ordering::Relaxed)))?
    {
        live.take(layers);
        screen.draw(|frame| draw_host(&live, frame))?;
    }
    Ok(Exit::Complete)
}

/// Sleeps; returns whether to stop.
fn rest(span: Duration, stop: &AtomicBool) -> bool {
    sleep(span);
    stop.load(Ordering::Relaxed)
}
