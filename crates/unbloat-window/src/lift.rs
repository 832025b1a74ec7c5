//! Windows of connections that are let go from outside, where no program is left to do it or where nothing is sent: through the
//! descriptors of the processes that have them (`pidfd_getfd(2)`, Linux 5.6).

use crate::cgroup::Cgroup;
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// As the program in the kernel does: more than any buffer.
const LIFTED: libc::c_int = 1 << 30;

/// Lifts the clamps of TCP connections of a group's processes, and of those in groups below: of those with these cookies, or of
/// all. Returns of how many.
pub fn lift(group: &Cgroup, only: Option<&BTreeSet<u64>>) -> usize {
    if only.is_some_and(BTreeSet::is_empty) {
        return 0;
    }
    let processes = group.all_processes();
    processes
        .into_iter()
        .map(|pid| lift_process(pid, only))
        .sum()
}

fn lift_process(pid: u32, only: Option<&BTreeSet<u64>>) -> usize {
    // SAFETY: integers only; the answer is a new descriptor or an error.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if process < 0 {
        return 0;
    }
    // SAFETY: it is new, and nobody else's.
    let process = unsafe { OwnedFd::from_raw_fd(process as i32) };
    let folder = format!("/proc/{pid}/fd");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sockets = entries.filter(|entry| {
        let link = fs::read_link(entry.path());
        link.is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"socket:"))
    });
    let numbers = sockets.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter_map(|number| take(&process, number))
        .filter(|socket| only.is_none_or(|some| cookie(socket).is_some_and(|c| some.contains(&c))))
        .filter(lift_socket)
        .count()
}

/// A descriptor of another process, here.
fn take(process: &OwnedFd, number: i32) -> Option<OwnedFd> {
    // SAFETY: integers only; the answer is a new descriptor or an error.
    let socket = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) };
    // SAFETY: it is new, and nobody else's.
    (socket >= 0).then(|| unsafe { OwnedFd::from_raw_fd(socket as i32) })
}

/// By which the program knows a socket.
fn cookie(socket: &OwnedFd) -> Option<u64> {
    let mut cookie = 0u64;
    let mut len = size_of_val(&cookie) as u32;
    // SAFETY: the room lives, and has that size.
    let got = unsafe {
        let to = (&raw mut cookie).cast();
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_COOKIE,
            to,
            &raw mut len,
        )
    };
    (got == 0).then_some(cookie)
}

fn lift_socket(socket: &OwnedFd) -> bool {
    let value = LIFTED;
    // SAFETY: the value lives, and has that size. Other sockets than TCP's refuse the option.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            (&raw const value).cast(),
            size_of_val(&value) as u32,
        )
    };
    set == 0
}
