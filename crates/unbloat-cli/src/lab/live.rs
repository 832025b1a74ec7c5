//! A run of the lab as it goes on: in the terminal, or as lines of JSON.

use crate::print::note;
use std::fs::File;
use std::io::{self, LineWriter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use unbloat_live::{Face, Screen, watch};
use unbloat_outcome::Snapshot;

/// Who watches.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Live {
    /// Show in the terminal how the run goes: backlog, rates, drops, each flow; q ends the run
    #[arg(long, conflicts_with = "live_json")]
    live: bool,

    /// Write how the run goes to a file or pipe, five lines of JSON a second
    #[arg(long, value_name = "FILE")]
    live_json: Option<PathBuf>,
}

impl Live {
    /// Whether the terminal is taken.
    pub fn takes_terminal(&self) -> bool {
        self.live
    }

    pub fn is_wanted(&self) -> bool {
        self.live || self.live_json.is_some()
    }

    /// Does `work` and shows what it tells meanwhile. `stop` is set when the person at the terminal wants it to end.
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
        let mut file = self.live_json.as_ref().map(File::create).transpose()?;
        let mut lines = file.as_mut().map(LineWriter::new);
        let face = match (self.live, &mut lines) {
            (true, _) => Some(Face::Screen(Screen::open()?)),
            (false, Some(lines)) => Some(Face::Lines(lines)),
            (false, None) => None,
        };
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let shown = face.map(|face| scope.spawn(|| watch(title, &board, face, stop, &over)));
            // Also when the work panics: the terminal would never be given back.
            let over = SetOnDrop(&over);
            let done = work(&tell);
            drop(over);
            match shown.map(|shown| shown.join()) {
                Some(Ok(Err(error))) => {
                    note!("unbloat: the run was not shown to its end: {error}")
                }
                Some(Err(_)) => note!("unbloat: the live view failed; the run went on"),
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
