//! Signals while a command runs for the user.
//!
//! Ctrl-C reaches every process of the terminal: this process ignores it, and the command decides what to do. SIGTERM and SIGHUP may
//! reach only this process, so it forwards them. In all cases this process ends after the command and cleans up.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

const IGNORED: [libc::c_int; 2] = [libc::SIGINT, libc::SIGQUIT];
const PASSED_ON: [libc::c_int; 2] = [libc::SIGTERM, libc::SIGHUP];

/// The command's process; 0 before and after.
static COMMAND: AtomicI32 = AtomicI32::new(0);
/// The last signal to forward.
static ASKED: AtomicI32 = AtomicI32::new(0);

extern "C" fn pass_on(signal: libc::c_int) {
    ASKED.store(signal, Ordering::SeqCst);
    let command = COMMAND.load(Ordering::SeqCst);
    if command > 0 {
        // SAFETY: kill is async-signal-safe.
        unsafe { libc::kill(command, signal) };
    }
}

/// Installs the handlers, so that this process outlives the command.
pub fn watch() {
    // SAFETY: the handler touches atomics and calls what a handler may call.
    unsafe {
        for signal in IGNORED {
            libc::signal(signal, libc::SIG_IGN);
        }
        for signal in PASSED_ON {
            libc::signal(signal, pass_on as *const () as libc::sighandler_t);
        }
    }
}

/// Lets the command see signals as if this process did not handle them.
pub fn as_usual(command: &mut Command) {
    let reset = || {
        for signal in IGNORED {
            // SAFETY: the call concerns the calling process alone.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls only.
    unsafe { command.pre_exec(reset) };
}

/// Forwards signals to the command while it exists.
pub struct PassOn;

impl PassOn {
    pub fn to(command: u32) -> PassOn {
        COMMAND.store(command as i32, Ordering::SeqCst);
        let asked = ASKED.load(Ordering::SeqCst);
        if asked > 0 {
            pass_on(asked);
        }
        PassOn
    }
}

impl Drop for PassOn {
    fn drop(&mut self) {
        COMMAND.store(0, Ordering::SeqCst);
    }
}
