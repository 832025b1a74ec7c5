//! What can go wrong.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    #[error(
        "this program was built without clang, so it has no programs for the kernel; build it where clang is"
    )]
    BuiltWithoutClang,
    #[error("the kernel tells nothing of its types (/sys/kernel/btf/vmlinux): {0}")]
    NoBtf(#[source] aya::BtfError),
    #[error("the program for the kernel cannot be loaded (it takes root): {}", chain(.0))]
    Load(#[from] aya::EbpfError),
    #[error("the kernel refuses the program: {}", chain(.0))]
    Program(#[from] aya::programs::ProgramError),
    #[error("a map of the program: {0}")]
    Map(#[from] aya::maps::MapError),
    #[error("the program lacks {0}")]
    Lacks(&'static str),
    #[error("{0:?} is no law for receive windows that can be held: drwa and rledbat are")]
    NoLaw(&'static str),
    #[error("a router holds windows by drwa only, not by {0:?}")]
    NotRouted(&'static str),
    #[error("no cgroup2 file system is mounted: mount -t cgroup2 none /sys/fs/cgroup/unified")]
    NoCgroups,
    #[error("{name:?} is no cgroup below {root}")]
    NoCgroup { name: String, root: PathBuf },
    #[error("a cgroup's name has no empty parts, no \"..\" and no control characters: {0:?}")]
    Name(String),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("no device is named {0:?}")]
    NoDevice(String),
    #[error("at most {most} ports can be chosen, not {count}")]
    Ports { count: usize, most: usize },
    #[error("another process holds the windows of {cgroup:?}: process {pid}")]
    Taken { cgroup: String, pid: u32 },
}

/// What is wrong, and why, and why.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
