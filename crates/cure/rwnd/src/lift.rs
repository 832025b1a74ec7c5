//! Windows of connections that are let go from outside, where no program is left to do it or where nothing is sent: through the
//! descriptors of the processes that have them (`pidfd_getfd(2)`, Linux 5.6).

use crate::cgroup::Cgroup;
use rustix::net::sockopt::socket_cookie;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use tracing::debug;
use unbloat_os::sockopt::set_window_clamp;

/// As the program in the kernel does: more than any buffer.
const LIFTED: u32 = 1 << 30;

/// Lifts the clamps of TCP connections of a group's processes, and of those in groups below: of those with these cookies, or of
/// all. Returns of how many.
pub fn lift(group: &Cgroup, only: Option<&BTreeSet<u64>>) -> usize {
    if only.is_some_and(BTreeSet::is_empty) {
        return 0;
    }
    let processes = group.all_processes();
    let count = processes
        .into_iter()
        .map(|pid| lift_process(pid, only))
        .sum();
    debug!(
        cgroup = group.name(),
        connections = count,
        "windows lifted from outside"
    );
    count
}

fn lift_process(pid: u32, only: Option<&BTreeSet<u64>>) -> usize {
    let Some(owner) = Pid::from_raw(pid.cast_signed()) else {
        return 0;
    };
    let Ok(process) = pidfd_open(owner, PidfdFlags::empty()) else {
        return 0;
    };
    let folder = format!("/proc/{pid}/fd");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sockets = entries.filter(|entry| {
        let link = fs::read_link(entry.path());
        link.is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"socket:"))
    });
    let numbers = sockets.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter_map(|number| pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok())
        .filter(|socket| {
            only.is_none_or(|some| socket_cookie(socket).is_ok_and(|cookie| some.contains(&cookie)))
        })
        // Other sockets than TCP's refuse the option.
        .filter(|socket| set_window_clamp(socket.as_fd(), LIFTED).is_ok())
        .count()
}
