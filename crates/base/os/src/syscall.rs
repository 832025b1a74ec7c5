//! Numbers of system calls, for filters.

pub use libc::{
    SYS_add_key, SYS_bpf, SYS_chroot, SYS_delete_module, SYS_execve, SYS_execveat,
    SYS_finit_module, SYS_init_module, SYS_io_uring_setup, SYS_kexec_load, SYS_keyctl, SYS_mount,
    SYS_open_by_handle_at, SYS_perf_event_open, SYS_pidfd_getfd, SYS_pivot_root,
    SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_reboot, SYS_setns, SYS_socket,
    SYS_socketpair, SYS_umount2, SYS_unshare, SYS_userfaultfd,
};
