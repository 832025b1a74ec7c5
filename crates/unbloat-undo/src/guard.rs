//! A second process that undoes what its owner changed, as soon as the owner is killed.

use crate::journals::Journals;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread::sleep;
use std::time::Duration;

/// What an owner says that ends as it should.
const DONE: u8 = b'.';
/// A killed process gives up its locks before its children get another parent, and soon.
const LOOKS: u32 = 1_000;
const LOOK: Duration = Duration::from_millis(5);

/// Lives as long as its owner: its end of a pipe tells.
///
/// For commands whose change is bad for traffic once nobody attends to it. If the guard is killed too, the next start undoes as ever.
#[derive(Debug)]
pub struct Guard {
    pid: libc::pid_t,
    end: Option<File>,
}

impl Guard {
    /// Forks. To be called before any thread runs and before anything is claimed: the child would hold the claims.
    pub fn fork() -> io::Result<Guard> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both are new, and nobody else's.
        let [read, write] = ends.map(|end| File::from(unsafe { OwnedFd::from_raw_fd(end) }));
        // SAFETY: plain call.
        let owner = unsafe { libc::getpid() };
        // SAFETY: the caller vouches for being the only thread.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(write);
                stand_by(read, owner);
                // SAFETY: ends this process without what the owner has registered for its own end.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Guard {
                pid,
                end: Some(write),
            }),
        }
    }
}

impl Drop for Guard {
    /// Lets it go: from here on nothing is undone by it.
    fn drop(&mut self) {
        if let Some(mut end) = self.end.take() {
            // If it is gone already there is nobody to be told.
            let _ = end.write_all(&[DONE]);
        }
        // SAFETY: it is our child; nothing is asked of its state.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

fn stand_by(mut end: File, owner: libc::pid_t) {
    // SAFETY: plain calls. What ends the owner from the terminal is not to end its guard.
    unsafe {
        libc::setsid();
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGTERM, libc::SIG_IGN);
        libc::prctl(libc::PR_SET_NAME, c"unbloat-guard".as_ptr());
    }
    if let Ok(nowhere) = File::options().read(true).write(true).open("/dev/null") {
        for standard in 0..3 {
            // SAFETY: both are open descriptors. Whoever waits for the owner's output is not to wait for the guard.
            unsafe { libc::dup2(nowhere.as_raw_fd(), standard) };
        }
    }
    if end.read_exact(&mut [0]).is_ok() {
        return;
    }
    for _ in 0..LOOKS {
        // SAFETY: plain call.
        let is_orphan = unsafe { libc::getppid() } != owner;
        if is_orphan && is_all_undone(owner) {
            return;
        }
        sleep(LOOK);
    }
}

/// Undoes what it can. A command of the owner's may still be at work on what was claimed: nothing of that is undone before it ends. What cannot be
/// undone stays written down for the next start.
fn is_all_undone(owner: libc::pid_t) -> bool {
    let Ok(journals) = Journals::system() else {
        return true;
    };
    let _ = journals.recover();
    let is_owners = |pid: u32| i64::from(pid) == i64::from(owner);
    journals.holdings().is_ok_and(|held| {
        held.iter()
            .all(|holding| holding.is_kept || !is_owners(holding.pid))
    })
}
