//! A second process that lets windows go when the first one was killed.

use crate::cgroup::Cgroup;
use crate::hold::Hold;
use crate::lift::lift;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread::sleep;
use std::time::Duration;

/// Connections that send let go by themselves within this; those that do not are found by their processes' descriptors.
const GRACE: Duration = Duration::from_millis(100);

/// Lives as long as the owner: its end of a pipe tells.
pub struct Guard {
    pid: libc::pid_t,
    end: Option<OwnedFd>,
}

impl Guard {
    /// Forks. The child keeps the programs in the kernel until the owner is gone, lets all windows go, removes the cgroup if it
    /// was `made` for the owner, and ends. In the owner no other thread may run yet.
    pub fn fork(hold: &mut Hold, cgroup: &Cgroup, made: bool) -> io::Result<Guard> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both are new, and nobody else's.
        let [read, write] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        // SAFETY: the caller vouches for being the only thread.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(write);
                stand_by(read, hold, cgroup, made);
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
    /// Waits until all is undone.
    fn drop(&mut self) {
        self.end = None;
        // SAFETY: it is our child; nothing is asked of its state.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

fn stand_by(end: OwnedFd, hold: &mut Hold, cgroup: &Cgroup, made: bool) {
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
    let _ = hold.release();
    sleep(GRACE);
    lift(cgroup, hold.cookies().as_ref());
    if made {
        let _ = cgroup.remove();
    }
}
