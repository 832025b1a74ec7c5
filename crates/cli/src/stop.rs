//! The end of a command by Ctrl-C.

use crate::print::note;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe::register;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Signals cannot be caught.
#[derive(Debug, thiserror::Error)]
#[error("cannot install the Ctrl-C handler: {0}")]
pub struct SignalError(#[from] io::Error);

/// Signals so close together are one Ctrl-C. A process that is being started has our handlers until it runs its program, and Ctrl-C reaches
/// it, too; and who closes a terminal is followed by its shell.
const ONE_PRESS: Duration = Duration::from_millis(100);

/// Becomes true at the first Ctrl-C (or SIGTERM), which stops the command and keeps its results. A
/// second one ends the program at once.
pub fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, SignalError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let (mut caught, catch) = io::pipe()?;
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        register(signal, catch.try_clone()?)?;
    }
    let wait = move || {
        let mut first: Option<Instant> = None;
        // Each signal writes a byte.
        while caught.read_exact(&mut [0]).is_ok() {
            let is_stopping = flag.swap(true, Ordering::Relaxed);
            match first {
                Some(at) if at.elapsed() < ONE_PRESS => {}
                _ if is_stopping => std::process::exit(130),
                _ => {
                    first = Some(Instant::now());
                    note!(
                        "unbloat: stopping and writing results; press Ctrl-C again to exit at once (changes to this host are undone in either case)"
                    );
                }
            }
        }
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(wait)?;
    Ok(stop)
}
