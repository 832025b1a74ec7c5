//! The terminal, taken over and given back.

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal, Stderr, stderr};
use std::mem::ManuallyDrop;
use std::panic;
use std::time::Duration;

/// The terminal behind standard error while it shows a run: results go to standard output, which may be a pipe. It is given back
/// when this is dropped, and when the program panics.
pub struct Screen {
    /// Never dropped: where the terminal is gone it would print that, and panic for want of where to.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stderr>>>,
}

impl Screen {
    /// Takes the terminal over.
    pub fn open() -> io::Result<Screen> {
        if !stderr().is_terminal() || !io::stdin().is_terminal() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the live view needs a terminal on standard input and standard error; --live-output writes lines to a file instead",
            ));
        }
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            restore();
            before(what);
        }));
        enable_raw_mode()?;
        let entered = execute!(stderr(), EnterAlternateScreen);
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(stderr())));
        terminal
            .map(|terminal| Screen {
                terminal: ManuallyDrop::new(terminal),
            })
            .inspect_err(|_| restore())
    }

    /// Shows a frame.
    pub fn draw(&mut self, fill: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(fill).map(|_| ())
    }

    /// Waits so long for what the person at the terminal does.
    pub fn input(&mut self, within: Duration) -> io::Result<Input> {
        // Keys that came together are read together: there may be some without anything new from the terminal.
        for wait in [Duration::ZERO, within] {
            let waiting = waits(wait)?;
            if waiting.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                return Ok(Input::Gone);
            }
            if event::poll(Duration::ZERO)? {
                return read();
            }
            if waiting.contains(PollFlags::IN) {
                wake()?;
            }
        }
        Ok(Input::Nothing)
    }
}

fn read() -> io::Result<Input> {
    Ok(match event::read()? {
        Event::Key(key) if key.kind == KeyEventKind::Press => Input::Key(key),
        Event::Resize(..) => Input::Resized,
        _ => Input::Nothing,
    })
}

/// What the person at the terminal did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Nothing,
    Key(KeyEvent),
    Resized,
    /// The terminal has hung up: nobody is there any more.
    Gone,
}

/// Waits so long for anything from the terminal: keys, or that it has hung up. The library that reads keys would read its end again
/// and again.
fn waits(within: Duration) -> io::Result<PollFlags> {
    let input = io::stdin();
    let mut terminal = [PollFd::new(&input, PollFlags::IN)];
    match poll(&mut terminal, Timespec::try_from(within).ok().as_ref()) {
        // By a signal: whoever caught it tells.
        Err(Errno::INTR) => Ok(PollFlags::empty()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(terminal[0].revents()),
    }
}

/// Makes the kernel report pending input again. crossterm gets one event for it (its epoll is edge-triggered) and does not read
/// input that arrives together with SIGWINCH; setting the attributes of a terminal wakes its readers.
fn wake() -> io::Result<()> {
    let input = io::stdin();
    let attributes = tcgetattr(&input)?;
    Ok(tcsetattr(&input, OptionalActions::Now, &attributes)?)
}

/// In raw mode Ctrl-C is a key like any other.
pub(crate) fn ends(key: KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    matches!(
        (key.code, is_control),
        (KeyCode::Char('q'), false) | (KeyCode::Char('c'), true)
    )
}

/// As it was. Nothing can be done where that fails.
fn restore() {
    let _ = execute!(stderr(), LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.terminal.show_cursor();
        restore();
    }
}
