//! What can go wrong.

use crate::resource::Resource;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("{resource}: in use by process {pid} ({command}); stop it first or wait until it ends")]
    Taken {
        resource: Resource,
        pid: u32,
        command: String,
    },
    #[error("{resource}: permanently changed by \"{command}\"; remove that change first")]
    Kept { resource: Resource, command: String },
    #[error("{}: {source}; commands that change this host need root", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "{}: cannot read line {line} ({source}); undo manually what the file lists, then remove the file",
        path.display()
    )]
    Journal {
        path: PathBuf,
        line: usize,
        source: serde_json::Error,
    },
    #[error(
        "{}: {why}, so its steps are not executed; undo manually what the file lists, then remove it",
        path.display()
    )]
    Foreign { path: PathBuf, why: &'static str },
    #[error(
        "{}: written by a newer unbloat (version {version}); undo it with that version",
        path.display()
    )]
    Newer { path: PathBuf, version: u32 },
    #[error("{}: too long to be an unbloat journal; remove it", path.display())]
    TooLong { path: PathBuf },
    #[error("there is no device \"{device}\"; `ip link` lists them")]
    NoDevice { device: String },
    #[error(
        "there is already a device \"{device}\", which unbloat did not make; it is left as it is"
    )]
    DeviceExists { device: String },
    #[error(
        "{device} has a queue discipline \"{kind}\" that cannot be restored exactly{}",
        way_out(device, place)
    )]
    CannotSave {
        device: String,
        kind: String,
        place: &'static str,
    },
    #[error(
        "{} exists and was not written by unbloat for this; move it away or remove it, then run the command again",
        path.display()
    )]
    FileExists { path: PathBuf },
    #[error(
        "{} was changed since unbloat wrote it, so it is not removed; move it away (mv {0} {0}.mine), then run the command again",
        path.display()
    )]
    Edited { path: PathBuf },
    #[error("{}: not a place where unbloat writes files", path.display())]
    NoPlace { path: PathBuf },
    #[error("{}: not a setting that can be restored", path.display())]
    NoSetting { path: PathBuf },
    #[error("cannot read the kernel's tables: {0}")]
    Kernel(io::Error),
    #[error("cannot start the process that rolls back changes if this one is killed: {0}")]
    Guard(io::Error),
    #[error("cannot roll back all changes: {}", said(failures))]
    NotUndone { failures: Vec<String> },
}

/// A root discipline is somebody's settings, which can be made anew. Filters at a device's entry may be a program's that does not look again.
fn way_out(device: &str, place: &str) -> String {
    match place {
        "root" => format!("; remove it first (tc qdisc del dev {device} root)"),
        place => format!(
            "; the filters at its {place} may be another program's and are left as they are"
        ),
    }
}

fn said(failures: &[String]) -> String {
    failures.join("; ")
}
