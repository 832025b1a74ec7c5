//! Ctrl-C.

use crate::print::note;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Becomes true at the first Ctrl-C (or SIGTERM), which asks to stop and keep what is known; a
/// second one ends the program at once.
pub fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, ctrlc::Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        note!(
            "unbloat: stopping; what is known is being written (Ctrl-C again: at once; what was changed on this host is undone all the same)"
        );
    })?;
    Ok(stop)
}
