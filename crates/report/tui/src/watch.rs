//! Looks at a run some times a second until it is over.

use crate::{Input, LiveView, Screen, Snapshot, line};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(200);

/// Where the run is shown.
pub enum Face<'a> {
    /// The terminal, where q ends the run.
    Screen(Screen),
    /// A line of JSON for each look.
    Lines(&'a mut (dyn Write + Send)),
}

/// Shows a run until `over`; `stop` is set when the person at the terminal wants it to end, and then it is shown on until it has.
/// Lines that nobody reads any more end the showing, not the run.
pub fn watch(
    title: &str,
    board: &Mutex<Snapshot>,
    mut face: Face<'_>,
    stop: &AtomicBool,
    over: &AtomicBool,
) -> io::Result<()> {
    let mut view = LiveView::new(title);
    loop {
        let is_over = over.load(Ordering::Relaxed);
        let seen = board.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_new = seen.at > view.live().now().at;
        view.take(seen);
        match &mut face {
            Face::Screen(screen) => screen.draw(|frame| view.draw(frame))?,
            Face::Lines(out) if is_new => {
                let written = writeln!(out, "{}", line(view.live())).and_then(|()| out.flush());
                match written {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                    written => written?,
                }
            }
            Face::Lines(_) => {}
        }
        if is_over {
            return Ok(());
        }
        match &mut face {
            Face::Screen(screen) => {
                let ends = match screen.input(EVERY)? {
                    Input::Gone => true,
                    Input::Key(key) => view.press(key),
                    Input::Nothing | Input::Resized => false,
                };
                if ends {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            Face::Lines(_) => sleep(EVERY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Time;

    #[test]
    fn each_new_snapshot_is_a_line_and_the_last_one_is_not_missed() {
        let board = Mutex::new(Snapshot::default());
        let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut out = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for ms in [5, 10] {
                    board.lock().unwrap().at = Time::from_ns(ms * 1_000_000);
                    sleep(2 * EVERY);
                }
                board.lock().unwrap().at = Time::from_ns(15_000_000);
                over.store(true, Ordering::Relaxed);
            });
            watch("x", &board, Face::Lines(&mut out), &stop, &over).unwrap();
        });
        let text = String::from_utf8(out).unwrap();
        let times: Vec<i64> = text
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["time_ns"]
                    .as_i64()
                    .unwrap()
            })
            .collect();
        assert_eq!(times, [5_000_000, 10_000_000, 15_000_000]);
        assert!(!stop.load(Ordering::Relaxed));
    }
}
