//! Numbers of system calls, for filters.

pub use libc::{
    SYS_bpf, SYS_execve, SYS_execveat, SYS_io_uring_setup, SYS_perf_event_open, SYS_pidfd_getfd,
    SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_socket, SYS_socketpair,
    SYS_userfaultfd,
};
