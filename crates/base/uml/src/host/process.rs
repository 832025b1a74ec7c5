//! The process that a guest is: started, waited for, killed.

use crate::error::{GuestError, at};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often the host looks whether the guest has ended.
const POLL: Duration = Duration::from_millis(2);
/// How often whoever waits is told so.
const TELL: Duration = Duration::from_millis(100);

/// Why a wait was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The guest switched itself off.
    Own,
    TooLate,
    Stopped,
}

/// A guest's processes; they are killed when it goes.
pub(super) struct Process(Child);

impl Process {
    pub(super) fn start(command: &mut Command) -> Result<Process, GuestError> {
        let program = command.get_program().display().to_string();
        let cpu = next_cpu();
        command.process_group(0);
        // SAFETY: between fork and exec nothing is called but sched_setaffinity.
        unsafe { command.pre_exec(move || pin(cpu)) };
        let child = command.spawn();
        child.map(Process).map_err(|source| GuestError::Start {
            command: program,
            source,
        })
    }

    pub(super) fn wait(
        &mut self,
        limit: Duration,
        stop: &AtomicBool,
        waiting: &dyn Fn(),
    ) -> Result<End, GuestError> {
        let begin = Instant::now();
        let mut told = begin;
        while begin.elapsed() < limit {
            if self.0.try_wait().map_err(at("the guest"))?.is_some() {
                return Ok(End::Own);
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(End::Stopped);
            }
            if told.elapsed() >= TELL {
                waiting();
                told = Instant::now();
            }
            std::thread::sleep(POLL);
        }
        Ok(End::TooLate)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // No such group: all have ended by themselves.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// A CPU for the next guest: the caller's own, which waits from now on, then the others in turn.
///
/// The kernel and its processes run by turns, never at once. On one CPU a turn costs a context switch, on
/// two the waking of a CPU (measured on a virtual machine: 13 us for a system call instead of 45).
fn next_cpu() -> Option<usize> {
    static FIRST: OnceLock<usize> = OnceLock::new();
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let cpus = allowed().ok()?;
    let here = || cpus.iter().position(|&cpu| cpu == sched_getcpu());
    let first = *FIRST.get_or_init(|| here().unwrap_or(0));
    let turn = first + NEXT.fetch_add(1, Ordering::Relaxed);
    cpus.get(turn % cpus.len().max(1)).copied()
}

fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    let all = 0..CpuSet::MAX_CPU;
    Ok(all.filter(|&cpu| set.is_set(cpu)).collect())
}

fn pin(cpu: Option<usize>) -> io::Result<()> {
    let Some(cpu) = cpu else {
        return Ok(());
    };
    let mut set = CpuSet::new();
    set.set(cpu);
    match sched_setaffinity(None, &set) {
        // It may have been taken away meanwhile: slower, but no reason to fail.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_take_turns_on_all_cpus() {
        let count = allowed().unwrap().len();
        let mut taken: Vec<_> = (0..count).map(|_| next_cpu().unwrap()).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), count);
    }
}
