//! Which system calls a confined process can make.

use rustix::io::Errno;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::env::consts::ARCH;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// It reads and writes files, and serves by sockets that are open.
    Files,
    /// It opens sockets, too, and asks name services, which are libraries.
    Sockets,
}

/// Lets only those system calls pass that are needed for it. Others do not exist (ENOSYS): so a C library falls back to older ones that it
/// knows.
pub fn filter(calls: Calls) -> Option<BpfProgram> {
    let arch = TargetArch::try_from(ARCH).ok()?;
    let one = |argument, op, value| {
        let condition = SeccompCondition::new(argument, Dword, op, value).ok()?;
        SeccompRule::new(vec![condition]).ok()
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    rules.extend(CALLS.iter().map(|call| (*call, Vec::new())));
    // Threads, but no processes.
    let thread = libc::CLONE_THREAD as u64;
    rules.insert(libc::SYS_clone, vec![one(0, MaskedEq(thread), thread)?]);
    let memory = [libc::SYS_mmap, libc::SYS_mprotect];
    match calls {
        // No memory becomes code.
        Calls::Files => {
            let code = libc::PROT_EXEC as u64;
            for call in memory {
                rules.insert(call, vec![one(2, MaskedEq(code), 0)?]);
            }
        }
        Calls::Sockets => {
            rules.extend(memory.iter().chain(SOCKETS).map(|call| (*call, Vec::new())))
        }
    }
    // Its own limits and priority.
    rules.insert(libc::SYS_prlimit64, vec![one(0, Eq, 0)?]);
    rules.insert(libc::SYS_setpriority, vec![one(1, Eq, 0)?]);
    rules.insert(libc::SYS_sched_setscheduler, vec![one(0, Eq, 0)?]);
    // It can abort itself.
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![one(0, Eq, own)?]);
    // Looks at terminals and sockets, but no keystrokes (TIOCSTI).
    let names: &[u64] = match calls {
        Calls::Files => &[],
        Calls::Sockets => &NAMES,
    };
    let mut asked = Vec::new();
    for request in REQUESTS.iter().chain(names) {
        asked.push(one(1, Eq, *request)?);
    }
    rules.insert(libc::SYS_ioctl, asked);
    let refuse = SeccompAction::Errno(Errno::NOSYS.raw_os_error().cast_unsigned());
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch).ok()?;
    filter.try_into().ok()
}

/// Of ioctl, as these processors number them. The constants of a C library have a type of its own.
const REQUESTS: [u64; 8] = [
    0x5401,      // TCGETS
    0x802C_542A, // TCGETS2
    0x5413,      // TIOCGWINSZ
    0x5411,      // SIOCOUTQ
    0x541B,      // FIONREAD
    0x894B,      // SIOCOUTQNSD
    0x5421,      // FIONBIO
    0x5451,      // FIOCLEX
];

/// The names and numbers of interfaces.
const NAMES: [u64; 2] = [
    0x8910, // SIOCGIFNAME
    0x8933, // SIOCGIFINDEX
];

/// To open sockets, to read the maps of programs in the kernel that are loaded, and to await the guard, which is a child.
const SOCKETS: &[i64] = &[
    libc::SYS_wait4,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_bpf,
];

/// Those of all processors that are supported, then those that older ones have beside them.
const CALLS: &[i64] = &[
    // Files.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_lseek,
    libc::SYS_openat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_copy_file_range,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_umask,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_utimensat,
    // Sockets that are open, and connections to them.
    libc::SYS_accept4,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    // Waiting.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    // Memory, threads, signals.
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_prctl,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // What one is and has, and to have less.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_seccomp,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    #[cfg(not(target_arch = "riscv64"))]
    libc::SYS_renameat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];
