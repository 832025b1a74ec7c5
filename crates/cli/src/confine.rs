//! Takes from this process what readers of captures and runs need not have: they parse what strangers wrote.
//!
//! This limits what a hostile capture or run can do through a bug in a parser: it cannot start a program, open a connection, access another
//! process, change namespaces, mounts or the kernel. Access to files is not restricted, because captures and the run's folder may be anywhere.
//! What needs more (a packet socket, the port of metrics) is opened before.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::collections::BTreeMap;
use std::env::consts::ARCH;
use unbloat_os::syscall;

/// Applies to all threads of this process and cannot be reverted. Has no effect on kernels without seccomp.
pub fn confine() {
    drop_capabilities();
    if let Some(filter) = filter() {
        // Best effort: nothing depends on the filter.
        let _ = seccompiler::apply_filter_all_threads(&filter);
    }
}

/// Does something on a thread of its own, which alone is confined.
#[cfg(feature = "full")]
pub fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let confined = || {
        drop_capabilities();
        if let Some(filter) = filter() {
            let _ = seccompiler::apply_filter(&filter);
        }
        work()
    };
    let done = std::thread::scope(|scope| scope.spawn(confined).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Root keeps the right to write where it was told to, and nothing else. Applies to this thread, and to those that it starts from now on.
fn drop_capabilities() {
    let files = CapabilitySet::DAC_OVERRIDE;
    let Ok(now) = capabilities(None) else {
        return;
    };
    let kept = CapabilitySets {
        effective: now.effective & files,
        permitted: now.permitted & files,
        inheritable: CapabilitySet::empty(),
    };
    // Best effort, as above.
    let _ = set_capabilities(None, kept);
    let _ = set_no_new_privs(true);
}

/// Rejects system calls that no parser needs with EPERM; `None` on processors that `seccompiler` does not support.
fn filter() -> Option<BpfProgram> {
    let refused = [
        syscall::SYS_execve,
        syscall::SYS_execveat,
        syscall::SYS_socket,
        syscall::SYS_socketpair,
        // io_uring can open sockets as well.
        syscall::SYS_io_uring_setup,
        syscall::SYS_ptrace,
        syscall::SYS_process_vm_readv,
        syscall::SYS_process_vm_writev,
        syscall::SYS_pidfd_getfd,
        syscall::SYS_bpf,
        syscall::SYS_perf_event_open,
        syscall::SYS_userfaultfd,
        syscall::SYS_unshare,
        syscall::SYS_setns,
        syscall::SYS_mount,
        syscall::SYS_umount2,
        syscall::SYS_pivot_root,
        syscall::SYS_chroot,
        syscall::SYS_open_by_handle_at,
        syscall::SYS_init_module,
        syscall::SYS_finit_module,
        syscall::SYS_delete_module,
        syscall::SYS_kexec_load,
        syscall::SYS_reboot,
        syscall::SYS_add_key,
        syscall::SYS_keyctl,
    ];
    let rules: BTreeMap<i64, Vec<_>> = refused.map(|call| (call, Vec::new())).into();
    let arch = TargetArch::try_from(ARCH).ok()?;
    let refuse = SeccompAction::Errno(Errno::PERM.raw_os_error().cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).ok()?;
    filter.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind::PermissionDenied;
    use std::net::{TcpStream, UdpSocket};
    use std::process::Command;

    #[test]
    fn a_confined_thread_starts_and_reaches_nothing_and_keeps_its_files() {
        let found = std::thread::spawn(|| {
            let before = Command::new("true").status().is_ok();
            seccompiler::apply_filter(&filter().expect("a known processor"))
                .expect("a kernel with seccomp");
            let refused = [
                Command::new("true").status().map(drop),
                TcpStream::connect("127.0.0.1:9").map(drop),
                UdpSocket::bind("127.0.0.1:0").map(drop),
            ];
            let file = tempfile::tempfile().map(drop);
            (
                before,
                refused.map(|done| done.map_err(|error| error.kind())),
                file.is_ok(),
            )
        });
        let (before, refused, has_files) = found.join().expect("a thread");
        assert!(before && has_files);
        assert_eq!(refused, [Err(PermissionDenied); 3]);
    }
}
