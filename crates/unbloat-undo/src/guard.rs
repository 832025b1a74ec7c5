//! A second process that undoes what its owner wrote down, once the owner was killed: nobody has to wait for the next start.

use crate::journals::Journals;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread::sleep;
use std::time::Duration;

/// A process that is killed closes what it had open, its locks among them, in an order of its own.
const LOOKS: u32 = 500;
const LOOK: Duration = Duration::from_millis(20);

/// Lives as long as its owner: the other end of a pipe tells.
#[derive(Debug)]
pub struct Guard {
    pid: libc::pid_t,
    end: Option<OwnedFd>,
}

impl Guard {
    /// Forks; in the owner no other thread may run yet. The child stays in the namespaces of this thread, waits until the owner is gone,
    /// and undoes what is left of its claims. Who kills both leaves it to the next start.
    pub fn fork() -> io::Result<Guard> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both are new, and nobody else's.
        let [read, write] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        let owner = std::process::id();
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
    fn drop(&mut self) {
        self.end = None;
        // SAFETY: it is our child; nothing is asked of its state.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

fn stand_by(end: OwnedFd, owner: u32) {
    // SAFETY: plain calls. What ends the owner from the terminal is not to end its guard, and whoever waits for the owner's
    // output is not to wait for the guard.
    unsafe {
        libc::setsid();
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGTERM, libc::SIG_IGN);
        libc::prctl(libc::PR_SET_NAME, c"unbloat-guard".as_ptr());
    }
    if let Ok(nowhere) = File::options().read(true).write(true).open("/dev/null") {
        for standard in 0..3 {
            // SAFETY: both are open descriptors.
            unsafe { libc::dup2(nowhere.as_raw_fd(), standard) };
        }
    }
    let mut end = File::from(end);
    while matches!(end.read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::Interrupted) {}
    for _ in 0..LOOKS {
        if is_undone(owner).unwrap_or(false) {
            return;
        }
        sleep(LOOK);
    }
}

fn is_undone(owner: u32) -> Result<bool, crate::UndoError> {
    let journals = Journals::system()?;
    journals.recover()?;
    let holdings = journals.holdings()?;
    Ok(holdings.iter().all(|held| held.pid != owner))
}
