//! The end of a command: Ctrl-C, and `--duration`.

use crate::print::note;
use crate::span::duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_units::Delta;

/// Becomes true at the first Ctrl-C (or SIGTERM), which stops the command and keeps its results. A
/// second one ends the program at once.
pub fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, ctrlc::Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        note!(
            "unbloat: stopping and writing results; press Ctrl-C again to exit at once (changes to this host are undone in either case)"
        );
    })?;
    Ok(stop)
}

/// Stops the command as Ctrl-C does, after `span`.
pub fn stop_after(span: Delta, stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        std::thread::sleep(duration(span));
        stop.store(true, Ordering::Relaxed);
    });
}
