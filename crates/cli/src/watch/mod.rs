//! `unbloat watch`: shows where packets of this host wait.

mod args;
mod record;
mod text;

pub use args::Args;
pub use record::tables;

use crate::confine::{NAMES_SENDERS, drop_capabilities};
use crate::events::Silence;
use crate::exit::{Exit, Failure};
use crate::interface::{self};
use crate::print::{self, note};
use crate::span::duration;
use crate::stop::stop_on_ctrl_c;
use crate::terminal;
use record::Record;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use unbloat_tui::host::{HostView, host_line};
use unbloat_tui::{Input, Screen};
use unbloat_watch::{Layers, Watch};

/// Interval between checks for a request to stop.
const NAP: Duration = Duration::from_millis(50);

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let has_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if !args.json && !args.once && !has_terminal {
        return Err("the live view needs a terminal on standard input and standard error; use --json or --once instead".into());
    }
    let options = args.options();
    options
        .filter
        .interface
        .as_deref()
        .map_or(Ok(()), interface::check)?;
    drop_capabilities(NAMES_SENDERS);
    let stop = stop_on_ctrl_c()?;
    let watch = Watch::open(&options)?;
    let blind = watch.blind().map(ToString::to_string);
    if let (Some(why), true) = (&blind, args.json || args.once) {
        note!("unbloat: waits are estimated from kernel statistics, not measured: {why}");
    }
    let mut looks = Looks {
        watch,
        record: args.out.as_deref().map(Record::create).transpose()?,
        every: args.every(),
        end: args.duration.map(|span| Instant::now() + duration(span)),
    };
    let exit = match (args.json, args.once) {
        (true, _) => lines(&mut looks, args.once, blind.is_none(), &stop),
        (false, true) => once(&mut looks, &stop),
        (false, false) => {
            let view = HostView::new(args.title(), blind, options.filter.interface.is_some());
            screen(&mut looks, view, &stop)
        }
    }?;
    if let Some(record) = looks.record {
        note!("tables  {}", record.finish()?.display());
    }
    Ok(exit)
}

/// The samples, and their schedule.
struct Looks {
    watch: Watch,
    record: Option<Record>,
    every: Duration,
    end: Option<Instant>,
}

impl Looks {
    /// Waits with `nap`, which returns whether to stop, and takes the next sample. None at the end.
    fn next(
        &mut self,
        mut nap: impl FnMut(Duration) -> Result<bool, Failure>,
    ) -> Result<Option<Layers>, Failure> {
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
                let layers = self.watch.look()?;
                if let Some(record) = &mut self.record {
                    record.take(&layers)?;
                }
                return Ok(Some(layers));
            }
            if nap(left.min(NAP))? {
                return Ok(None);
            }
        }
    }
}

/// Prints one JSON line per sample, until the reader closes the pipe.
fn lines(
    looks: &mut Looks,
    once: bool,
    is_measured: bool,
    stop: &AtomicBool,
) -> Result<Exit, Failure> {
    while let Some(layers) = looks.next(|span| Ok(rest(span, stop)))? {
        print::raw(&(host_line(&layers, is_measured) + "\n"))?;
        if once {
            break;
        }
    }
    Ok(Exit::Complete)
}

fn once(looks: &mut Looks, stop: &AtomicBool) -> Result<Exit, Failure> {
    let Some(layers) = looks.next(|span| Ok(rest(span, stop)))? else {
        return Ok(Exit::Interrupted);
    };
    print::text(&text::text(&layers, terminal::stdout().columns))?;
    Ok(Exit::Complete)
}

fn screen(looks: &mut Looks, mut view: HostView, stop: &AtomicBool) -> Result<Exit, Failure> {
    let _silence = Silence::begin();
    let mut screen = Screen::open().map_err(terminal_failed)?;
    screen
        .draw(|frame| view.draw(frame))
        .map_err(terminal_failed)?;
    while let Some(layers) = looks
        .next(|span| Ok(ends(&mut screen, &mut view, span)? || stop.load(Ordering::Relaxed)))?
    {
        view.take(layers);
        screen
            .draw(|frame| view.draw(frame))
            .map_err(terminal_failed)?;
    }
    Ok(Exit::Complete)
}

/// Waits so long for what the person at the terminal does, and does it; whether that ends the view.
fn ends(screen: &mut Screen, view: &mut HostView, span: Duration) -> Result<bool, Failure> {
    let ends = match screen.input(span).map_err(terminal_failed)? {
        Input::Gone => return Ok(true),
        Input::Nothing => return Ok(false),
        Input::Key(key) => view.press(key),
        Input::Resized => false,
    };
    screen
        .draw(|frame| view.draw(frame))
        .map_err(terminal_failed)?;
    Ok(ends)
}

/// Sleeps; returns whether to stop.
fn rest(span: Duration, stop: &AtomicBool) -> bool {
    sleep(span);
    stop.load(Ordering::Relaxed)
}

fn terminal_failed(error: io::Error) -> Failure {
    format!("cannot use the terminal: {error}").into()
}
