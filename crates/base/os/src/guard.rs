//! A second process that does what is left to do when the first one has ended, also by `kill -9`.
//!
//! The two hold the ends of a pipe: the kernel closes the owner's when the owner is gone, however that came. Ctrl-C and a hang-up at the
//! terminal do not end the guard, and who waits for the owner's output does not wait for it. If both are killed nobody is left.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What an owner says that lets its guard go.
const DONE: u8 = b'.';

/// How the owner ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It dropped the guard.
    LetGo,
    Killed,
}

/// Lives as long as its owner; dropped, it is let go, and its job waited for.
#[derive(Debug)]
pub struct Guard {
    pid: libc::pid_t,
    end: Option<File>,
}

impl Guard {
    /// Forks; the child waits for the owner's end, does the job and ends. To be called while no other thread runs. The child has all that the owner
    /// has by then: what only the owner is to hold (locks) has to be taken afterwards.
    pub fn fork(job: impl FnOnce(Ended)) -> io::Result<Guard> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both are new, and nobody else's.
        let [read, write] = ends.map(|end| File::from(unsafe { OwnedFd::from_raw_fd(end) }));
        // SAFETY: the caller vouches for being the only thread.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(write);
                job(stand_by(read));
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
        if let Some(mut end) = self.end.take() {
            // If it is gone already there is nobody to be told.
            let _ = end.write_all(&[DONE]);
        }
        // SAFETY: it is our child; nothing is asked of its state.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

fn stand_by(mut end: File) -> Ended {
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
    match end.read_exact(&mut [0]) {
        Ok(()) => Ended::LetGo,
        Err(_) => Ended::Killed,
    }
}
