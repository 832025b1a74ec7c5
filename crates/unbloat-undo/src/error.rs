//! What can go wrong.

use crate::resource::Resource;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error(
        "{resource}: process {pid} ({command}) is at work on it; end that first, or wait for it"
    )]
    Taken {
        resource: Resource,
        pid: u32,
        command: String,
    },
    #[error("{resource}: changed by \"{command}\", which is to last; remove that first")]
    Kept { resource: Resource, command: String },
    #[error("{}: {source}; changing this host needs root", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "{}: line {line} cannot be read ({source}); look what it says, undo that by hand, and remove the file",
        path.display()
    )]
    Journal {
        path: PathBuf,
        line: usize,
        source: serde_json::Error,
    },
    #[error(
        "{}: {why}, so what it says is not done; look what it says, undo that by hand, and remove it",
        path.display()
    )]
    Foreign { path: PathBuf, why: &'static str },
    #[error(
        "{}: a newer unbloat wrote it (version {version}), which is to undo it",
        path.display()
    )]
    Newer { path: PathBuf, version: u32 },
    #[error("{}: it is too long to be a journal of ours; remove it", path.display())]
    TooLong { path: PathBuf },
    #[error("there is no device \"{device}\" here; `ip link` lists them")]
    NoDevice { device: String },
    #[error("there is a device \"{device}\" already; remove it (ip link del) if it is nobody's")]
    DeviceExists { device: String },
    #[error(
        "{device} has a queue discipline \"{kind}\" that could not be put back as it is; remove it first (tc qdisc del dev {device} {place})"
    )]
    CannotSave {
        device: String,
        kind: String,
        place: &'static str,
    },
    #[error("{}: that is no setting that is put back", path.display())]
    NoSetting { path: PathBuf },
    #[error("the kernel's tables could not be read: {0}")]
    Kernel(io::Error),
    #[error("no second process could be made that undoes what a kill would leave: {0}")]
    Guard(io::Error),
    #[error("could not undo all of it: {}", said(failures))]
    NotUndone { failures: Vec<String> },
}

fn said(failures: &[String]) -> String {
    failures.join("; ")
}
