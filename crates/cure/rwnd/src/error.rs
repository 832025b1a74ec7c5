//! What can go wrong.

use std::io;
use std::path::PathBuf;
use unbloat_os::privilege::advice;

#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    #[error(
        "this binary was built without clang and has no BPF programs; install clang and rebuild"
    )]
    BuiltWithoutClang,
    #[error(
        "the kernel has no type information (/sys/kernel/btf/vmlinux): {0}; it needs CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf(#[source] aya::BtfError),
    #[error("cannot load the BPF program (needs root): {}", chain(.0))]
    Load(#[from] aya::EbpfError),
    #[error("the kernel rejects the BPF program: {}", chain(.0))]
    Program(#[from] aya::programs::ProgramError),
    #[error("cannot access a BPF map: {0}")]
    Map(#[from] aya::maps::MapError),
    #[error("the BPF object has no {0}")]
    Lacks(&'static str),
    #[error("{0:?} cannot control receive windows in the kernel; use drwa or rledbat")]
    NoLaw(&'static str),
    #[error("a router can control receive windows only with drwa, not with {0:?}")]
    NotRouted(&'static str),
    #[error("no cgroup2 file system is mounted; run mount -t cgroup2 none /sys/fs/cgroup/unified")]
    NoCgroups,
    #[error("there is no cgroup {name:?} below {root}")]
    NoCgroup { name: String, root: PathBuf },
    #[error(
        "invalid cgroup name {0:?}: it must not contain empty parts, \"..\" or control characters"
    )]
    Name(String),
    #[error("{path}: {source}{}", advice(source))]
    File { path: PathBuf, source: io::Error },
    #[error("there is no interface {0:?}; `ip link` lists them")]
    NoDevice(String),
    #[error("{count} ports are too many; give at most {most}")]
    Ports { count: usize, most: usize },
    #[error("process {pid} already controls the receive windows of {cgroup:?}")]
    Taken { cgroup: String, pid: u32 },
}

/// What is wrong, and why, and why.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
