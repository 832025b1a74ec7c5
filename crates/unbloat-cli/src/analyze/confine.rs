//! The parsers of captures need neither network nor other programs, so the kernel takes both away (seccomp, Linux).
//!
//! What a capture could do to a parser that has a hole is then bounded: it starts nothing, connects to nothing and reaches into no other process.
//! Files are left as they are: captures and the run's folder may be anywhere.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::collections::BTreeMap;
use std::env::consts::ARCH;

/// For all threads of this process, and for good. A kernel without seccomp leaves everything as it was.
pub fn confine() {
    if let Some(filter) = filter() {
        // Without it the parsers are what they are: nothing depends on it.
        let _ = seccompiler::apply_filter_all_threads(&filter);
    }
}

/// Refuses with EPERM what no parser calls; `None` for processors that the filter's language is not known of.
fn filter() -> Option<BpfProgram> {
    let refused = [
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_socket,
        libc::SYS_socketpair,
        // Its rings open sockets as well.
        libc::SYS_io_uring_setup,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
    ];
    let rules: BTreeMap<i64, Vec<_>> = refused.map(|call| (call, Vec::new())).into();
    let arch = TargetArch::try_from(ARCH).ok()?;
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
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
