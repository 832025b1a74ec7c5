//! Takes from this process what it need not have, since it parses what strangers wrote or sent.
//!
//! This limits what a hostile capture, run or client can do through a bug in a parser: it cannot start a program, open a connection, reach
//! another process, change namespaces, mounts or the kernel, make memory executable, or use files other than those of its task. What needs
//! more (a packet socket, the port of a server) is opened before. A kernel or a processor without one of these means does without it.

#[cfg(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
))]
mod filter;

/// Processors that `seccompiler` does not support.
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
)))]
mod filter {
    pub enum Calls {
        Files,
        Sockets,
    }

    pub fn filter(_: Calls) -> Option<seccompiler::BpfProgram> {
        None
    }
}

use crate::kernel::of_kernel;
pub use filter::Calls;
use filter::filter;
use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, make_bitflags,
};
pub use rustix::thread::CapabilitySet;
use rustix::thread::{CapabilitySets, capabilities, set_capabilities, set_no_new_privs};
#[cfg(feature = "router")]
use rustix::{
    io::Errno,
    process::{Gid, Uid},
    thread::{set_keep_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};
use seccompiler::BpfProgramRef;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tracing::info;

/// What readers of files do before the first byte: all three below.
pub fn confine<P: AsRef<Path>>(files: &[(May, P)]) {
    drop_capabilities(CapabilitySet::empty());
    confine_files(files);
    confine_calls(Calls::Files);
}

/// Does something on a thread of its own, which alone is confined and can only read what is below `reads`.
pub fn apart<T: Send>(reads: &Path, work: impl FnOnce() -> T + Send) -> T {
    on_a_thread(|| {
        drop_capabilities(CapabilitySet::empty());
        confine_files(&[(May::Read, reads)]);
        apply(Calls::Files, seccompiler::apply_filter);
        work()
    })
}

/// Speaks with other hosts on a thread of its own, which alone is confined, and those that it starts: as the user who called sudo, who reads
/// what name services and certificates need, and writes nothing. Of root's capabilities these stay.
#[cfg(feature = "router")]
pub fn speak<T: Send>(keep: CapabilitySet, work: impl FnOnce() -> T + Send) -> T {
    on_a_thread(|| {
        if rustix::process::geteuid().is_root()
            && !*IS_IN_UNIT
            && let Err(error) = become_caller(keep)
        {
            info!(%error, "other hosts are spoken to as root");
        }
        drop_capabilities(keep);
        confine_files(&OF_HOST.map(|path| (May::Read, path)));
        apply(Calls::Sockets, seccompiler::apply_filter);
        work()
    })
}

/// This thread, and those that it starts, become the user who called sudo, or nobody where root has logged in. Other threads stay who they are,
/// and no user can trace a process that has threads of root.
#[cfg(feature = "router")]
fn become_caller(keep: CapabilitySet) -> Result<(), Errno> {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    let caller = number("SUDO_UID").zip(number("SUDO_GID"));
    let (uid, gid) = caller
        .filter(|(uid, _)| *uid != 0)
        .unwrap_or((65_534, 65_534));
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let kept = capabilities(None)?.permitted & keep;
    set_thread_groups(&[gid])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_keep_capabilities(true)?;
    set_thread_res_uid(uid, uid, uid)?;
    let kept = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept)
}

/// What name services and certificates need, and figures of the kernel.
#[cfg(feature = "router")]
const OF_HOST: [&str; 9] = [
    "/etc",
    "/usr",
    "/lib",
    "/lib64",
    "/nix/store",
    "/proc",
    "/run/systemd/resolve",
    "/sys",
    "/var/lib/ca-certificates",
];

fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let done = std::thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Root keeps the right to use files of others, which is bounded by [`confine_files`], and these. Applies to this thread, and to those that
/// it starts from now on.
pub fn drop_capabilities(but: CapabilitySet) {
    if *IS_IN_UNIT {
        return;
    }
    let kept = CapabilitySet::DAC_OVERRIDE | but;
    let Ok(now) = capabilities(None) else {
        return;
    };
    let kept = CapabilitySets {
        effective: now.effective & kept,
        permitted: now.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    // Best effort: nothing depends on it.
    let _ = set_capabilities(None, kept);
    let _ = set_no_new_privs(true);
}

/// What root keeps who sees packets by sockets and BPF and sets rates: that of the units of `monitor` and `autorate`.
pub const SEES_PACKETS: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON);

/// What root keeps who measures: also the right to become the caller, by [`speak`].
#[cfg(feature = "router")]
pub const MEASURES: CapabilitySet = SEES_PACKETS
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID);

/// What root keeps who also names the processes that send.
pub const NAMES_SENDERS: CapabilitySet = SEES_PACKETS
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::DAC_READ_SEARCH);

/// Only these system calls are left, for all threads of this process.
pub fn confine_calls(calls: Calls) {
    apply(calls, seccompiler::apply_filter_all_threads);
}

/// Whether systemd has taken rights away already, before we did. The filter of its unit may end a process for each call that it does not know,
/// also for one by which the process would only give up more.
static IS_IN_UNIT: LazyLock<bool> = LazyLock::new(|| {
    let status = || of_kernel("/proc/self/status").unwrap_or_default();
    let is_filtered = || status().lines().any(|line| line == "Seccomp:\t2");
    std::env::var_os("INVOCATION_ID").is_some() && is_filtered()
});

fn apply(calls: Calls, how: impl Fn(BpfProgramRef<'_>) -> Result<(), seccompiler::Error>) {
    if *IS_IN_UNIT {
        return info!("the unit has a filter of system calls");
    }
    match filter(calls).map(|filter| how(&filter)) {
        Some(Ok(())) => {}
        Some(Err(error)) => info!(%error, "system calls are not filtered"),
        None => info!("system calls are not filtered on this processor"),
    }
}

/// What may be done with a file, or with all that is below a folder.
#[derive(Clone, Copy, Debug)]
pub enum May {
    Read,
    Write,
    /// Give folders other names and replace links, but not write or read files.
    Rename,
}

impl May {
    fn rights(self) -> BitFlags<AccessFs> {
        match self {
            May::Read => make_bitflags!(AccessFs::{ReadFile | ReadDir}),
            May::Write => {
                let files = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | MakeReg});
                files | AccessFs::ReadDir | AccessFs::RemoveFile | May::Rename.rights()
            }
            May::Rename => {
                make_bitflags!(AccessFs::{MakeDir | RemoveDir | MakeSym | RemoveFile})
            }
        }
    }
}

/// The number of processors, as the standard library finds it; and the release of the kernel.
const ALWAYS: [&str; 3] = ["/proc/self", "/sys/fs/cgroup", "/proc/sys/kernel/osrelease"];

/// From now on this thread, and those that it starts, can use only these files beside those that are open. A path that will be written and does
/// not exist yet stands for the folder in which it will be made.
pub fn confine_files<P: AsRef<Path>>(files: &[(May, P)]) {
    if *IS_IN_UNIT {
        return;
    }
    let always = ALWAYS.map(|path| (May::Read, Path::new(path)));
    let given = files.iter().map(|(may, path)| (*may, path.as_ref()));
    match restrict(always.into_iter().chain(given)) {
        Ok(status) => info!(by_landlock = ?status, "files are restricted"),
        Err(error) => info!(%error, "files are not restricted"),
    }
}

fn restrict<'a>(
    files: impl Iterator<Item = (May, &'a Path)>,
) -> Result<RulesetStatus, landlock::RulesetError> {
    // All of a kernel of 6.10; an older one does what it can.
    let all = AccessFs::from_all(ABI::V5);
    let mut rules = Ruleset::default().handle_access(all)?.create()?;
    for (may, path) in files {
        // Who may read what does not exist reads nothing.
        let place = match may {
            May::Read => path.exists().then(|| path.to_owned()),
            May::Write | May::Rename => existing(path),
        };
        let Some(place) = place else {
            continue;
        };
        let Ok(opened) = PathFd::new(&place) else {
            continue;
        };
        let rights = match place.is_dir() {
            true => may.rights(),
            false => may.rights() & AccessFs::from_file(ABI::V5),
        };
        // A pipe, which is open to all, takes no rule.
        let _ = (&mut rules).add_rule(PathBeneath::new(opened, rights));
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// The path itself, or the nearest folder above it that exists.
fn existing(path: &Path) -> Option<PathBuf> {
    let mut above = std::path::absolute(path).ok()?;
    while !above.exists() {
        above.pop().then_some(())?;
    }
    Some(above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{self, ErrorKind};
    use std::net::{TcpStream, UdpSocket};
    use std::process::Command;

    #[test]
    fn a_confined_thread_starts_and_reaches_nothing_and_keeps_its_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let (own, other) = (folder.path().join("own"), folder.path().join("other"));
        for path in [&own, &other] {
            fs::create_dir(path).expect("a folder");
            fs::write(path.join("file"), "mine").expect("a file");
        }
        let confined = || {
            let rights = [(May::Write, own.as_path())].into_iter();
            let restricted = restrict(rights).expect("rules");
            seccompiler::apply_filter(&filter(Calls::Files).expect("a known processor"))
                .expect("a kernel with seccomp");
            let kind = |done: io::Result<()>| done.map_err(|error| error.kind());
            let calls = [
                Command::new("true").status().map(drop),
                TcpStream::connect("127.0.0.1:9").map(drop),
                UdpSocket::bind("127.0.0.1:0").map(drop),
            ];
            let files = [
                fs::write(other.join("file"), "theirs"),
                fs::read(other.join("file")).map(drop),
                fs::remove_file(other.join("file")),
                fs::rename(own.join("file"), other.join("new")),
            ];
            // It works: threads, and files of its own.
            std::thread::scope(|scope| scope.spawn(|| fs::write(own.join("new"), "ours")).join())
                .expect("a thread")
                .expect("a file of its own");
            (calls.map(kind), files.map(kind), restricted)
        };
        let found = std::thread::scope(|scope| scope.spawn(confined).join());
        let (calls, files, restricted) = found.expect("a thread");
        assert_eq!(calls, [Err(ErrorKind::Unsupported); 3]);
        let is_enforced = restricted != RulesetStatus::NotEnforced;
        assert!(
            files.iter().all(Result::is_err) || !is_enforced,
            "{files:?}"
        );
        assert_eq!(fs::read(own.join("new")).expect("a file"), b"ours");
    }

    #[test]
    fn what_does_not_exist_stands_for_the_folder_above() {
        let folder = tempfile::tempdir().expect("a folder");
        let found = existing(&folder.path().join("a/b/c"));
        assert_eq!(found.as_deref(), Some(folder.path()));
    }
}
