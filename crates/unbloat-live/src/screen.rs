//! The terminal, taken over and given back.

use crate::{Live, draw};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};
use std::io::{self, IsTerminal, Stderr, stderr};
use std::panic;
use std::time::Duration;

/// The terminal behind standard error while it shows a run: results go to standard output, which may be a pipe. It is given back
/// when this is dropped, and when the program panics.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
}

impl Screen {
    /// Takes the terminal over.
    pub fn open() -> io::Result<Screen> {
        if !stderr().is_terminal() || !io::stdin().is_terminal() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the live view needs a terminal on standard input and standard error; --live-json prints lines instead",
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
            .map(|terminal| Screen { terminal })
            .inspect_err(|_| restore())
    }

    pub fn show(&mut self, live: &Live) -> io::Result<()> {
        self.draw(|frame| draw(live, frame))
    }

    /// Shows a frame that somebody else fills.
    pub fn draw(&mut self, fill: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(fill).map(|_| ())
    }

    /// Waits so long for keys; whether one of them asks to end the run.
    pub fn asks_to_end(&mut self, within: Duration) -> io::Result<bool> {
        if !event::poll(within)? {
            return Ok(false);
        }
        Ok(match event::read()? {
            Event::Key(key) => key.kind == KeyEventKind::Press && ends(key),
            _ => false,
        })
    }
}

/// In raw mode Ctrl-C is a key like any other.
fn ends(key: KeyEvent) -> bool {
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
