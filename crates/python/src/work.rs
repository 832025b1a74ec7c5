//! Long work, without Python's lock, which Ctrl-C stops.

use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often signals are looked for.
const POLL: Duration = Duration::from_millis(20);

/// Does `work` on a thread of its own while other threads of Python go on. At Ctrl-C the flag that `work` gets becomes true, and after
/// `work` has returned, `KeyboardInterrupt` (or what the signal's handler raised) is the result.
///
/// Python runs handlers of signals on its main thread only: called from another one, `work` is not stopped.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    py.detach(|| {
        std::thread::scope(|scope| {
            let (running, ended) = channel::<()>();
            let stop = &stop;
            let worker = scope.spawn(move || {
                // Dropped at the end, also by a panic.
                let _running = running;
                work(stop)
            });
            let mut raised = None;
            while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = Python::attach(|attached| attached.check_signals()) {
                    stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            }
            match (worker.join(), raised) {
                (Err(panic), _) => resume_unwind(panic),
                (Ok(_), Some(error)) => Err(error),
                (Ok(done), None) => Ok(done),
            }
        })
    })
}
