//! The end of a command by Ctrl-C.

use crate::print::note;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
