//! Live view of a lab run: in the terminal, or as JSON lines.

use crate::events::Silence;
use crate::print::note;
use std::io::{self, LineWriter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use unbloat_experiment::outcome::Snapshot;
use unbloat_os::files;
use unbloat_tui::{Face, Screen, watch};

/// Options of the live view.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Live {
    /// Show the state of the run in the terminal (backlog, rates, drops, flows); q ends the run
    #[arg(long, conflicts_with = "live_output")]
    live: bool,

    /// Write the state of the run to this file or pipe, as five JSON lines per second
    #[arg(long, value_name = "FILE")]
    live_output: Option<PathBuf>,
}

impl Live {
    /// Whether the live view uses the terminal.
    pub fn takes_terminal(&self) -> bool {
        self.live
    }

    pub fn is_wanted(&self) -> bool {
        self.live || self.live_output.is_some()
    }

    /// Runs `work` and shows the snapshots that it reports. `stop` is set when the user ends the run in the terminal.
    pub fn during<T: Send>(
        &self,
        title: &str,
        stop: &AtomicBool,
        work: impl FnOnce(&(dyn Fn(&Snapshot) + Sync)) -> T,
    ) -> io::Result<T> {
        let board = Mutex::new(Snapshot::default());
        let tell = |snapshot: &Snapshot| {
            let mut place = board.lock().unwrap_or_else(PoisonError::into_inner);
            place.clone_from(snapshot);
        };
        let _silence = self.live.then(Silence::begin);
        let file = self.live_output.as_deref();
        let mut file = file.map(files::create_named).transpose()?;
        let mut lines = file.as_mut().map(LineWriter::new);
        let face = match (self.live, &mut lines) {
            (true, _) => Some(Face::Screen(Screen::open()?)),
            (false, Some(lines)) => Some(Face::Lines(lines)),
            (false, None) => None,
        };
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let shown = face.map(|face| scope.spawn(|| watch(title, &board, face, stop, &over)));
            // Also when `work` panics: otherwise the terminal would not be restored.
            let over = SetOnDrop(&over);
            let done = work(&tell);
            drop(over);
            match shown.map(|shown| shown.join()) {
                Some(Ok(Err(error))) => {
                    note!("unbloat: the live view ended before the run: {error}")
                }
                Some(Err(_)) => {
                    note!("unbloat: the live view failed; the run continued without it")
                }
                Some(Ok(Ok(()))) | None => {}
            }
            Ok(done)
        })
    }
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
