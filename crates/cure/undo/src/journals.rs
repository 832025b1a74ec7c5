//! The folder of all claims.

use crate::claim::Claim;
use crate::error::UndoError;
use crate::folder::{Entry, Folder};
use crate::netlink::Netlink;
use crate::record::{Fault, Head, Line, Record, VERSION};
use crate::resource::{Purpose, Resource};
use crate::step::Step;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;
use tracing::debug;
use unbloat_os::namespace::network_cookie;
use unbloat_os::user::has_more_rights;

const FOLDER: &str = "/run/unbloat";
const LASTING: &str = "/var/lib/unbloat";
const VARIABLE: &str = "UNBLOAT_RUN";
const ENDING: &str = "undo";
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// Of a journal.
const LONGEST_BYTES: u64 = 1 << 20;
/// A new owner writes its first line right after it has the lock, and the last command of a dead one ends soon.
const LOOKS: u32 = 200;
const LOOK: Duration = Duration::from_millis(10);

/// Where claims are written down.
#[derive(Clone, Debug)]
pub struct Journals {
    folder: Folder,
    /// Of what outlasts a boot; it is made when it is needed.
    lasting: PathBuf,
}

/// What a killed command had left, and whether it could be undone.
#[derive(Debug)]
pub struct Recovered {
    pub left: Left,
    pub undone: Result<(), UndoError>,
}

/// What is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    Change {
        resource: Resource,
        pid: u32,
        command: String,
    },
    /// A file that is no journal, or none that may be believed: nothing of it was done.
    Unreadable(PathBuf),
}

/// Who holds what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    pub resource: Resource,
    pub pid: u32,
    pub purpose: Purpose,
    /// Its owner works; else the change was kept, or its owner was killed.
    pub is_alive: bool,
    pub is_kept: bool,
}

impl Journals {
    /// Those of this system: in `/run/unbloat`, or `$UNBLOAT_RUN`, unless the program has more rights than who started it.
    pub fn system() -> Result<Journals, UndoError> {
        match std::env::var_os(VARIABLE).filter(|_| !has_more_rights()) {
            Some(folder) => Journals::at(folder.into()),
            None => Ok(Journals {
                folder: Folder::open(FOLDER.into())?,
                lasting: LASTING.into(),
            }),
        }
    }

    /// Those in a folder, which is made if it is not there, and may be nobody else's.
    pub fn at(folder: PathBuf) -> Result<Journals, UndoError> {
        Ok(Journals {
            lasting: folder.join("lasting"),
            folder: Folder::open(folder)?,
        })
    }

    /// As [`Claim::take`].
    pub fn take(&self, resource: &Resource, purpose: &Purpose) -> Result<Claim, UndoError> {
        let here = Place::here()?;
        let entry = self.entry(resource, here.namespace)?;
        let locked = open_locked(&entry, true)?.unwrap_or(Locked::ByAnother);
        let Locked::ByUs(file) = locked else {
            return Err(taken(&entry, resource));
        };
        let record = read(&file.0, &entry)?;
        if record.is_kept && record.head.as_ref().is_some_and(|h| here.has(h)) {
            let command = record.head.map_or(String::new(), |h| h.purpose.command);
            let resource = resource.clone();
            return Err(UndoError::Kept { resource, command });
        }
        let fresh = Head {
            version: VERSION,
            resource: resource.clone(),
            pid: std::process::id(),
            purpose: purpose.clone(),
            boot: here.boot.clone(),
            namespace: here.namespace,
        };
        match record.head {
            // The dead owner's file goes with what it had done.
            Some(head) if here.has(&head) => {
                claim(entry, file, head, record.steps)?.undo()?;
                self.take(resource, purpose)
            }
            _ => {
                file.0.set_len(0).map_err(|error| entry.failed(error))?;
                let mut claim = claim(entry, file, fresh.clone(), Vec::new())?;
                debug!(%resource, journal = %claim.entry.path().display(), "claimed");
                claim.write(&Line::Claim(fresh))?;
                Ok(claim)
            }
        }
    }

    /// As [`Claim::kept`].
    pub fn kept(&self, resource: &Resource) -> Result<Option<Claim>, UndoError> {
        let here = Place::here()?;
        if resource.outlasts_boot() && !self.lasting.exists() {
            return Ok(None);
        }
        let entry = self.entry(resource, here.namespace)?;
        let file = match open_locked(&entry, false)? {
            None => return Ok(None),
            Some(Locked::ByAnother) => return Err(taken(&entry, resource)),
            Some(Locked::ByUs(file)) => file,
        };
        let record = read(&file.0, &entry)?;
        match record.head {
            Some(head) if record.is_kept && here.has(&head) => {
                let mut claim = claim(entry, file, head, record.steps)?;
                claim.is_settled = true;
                Ok(Some(claim))
            }
            _ => Ok(None),
        }
    }

    /// As [`crate::recover`].
    pub fn recover(&self) -> Result<Vec<Recovered>, UndoError> {
        let here = Place::here()?;
        let mut recovered = Vec::new();
        for entry in self.entries()? {
            debug!(journal = %entry.path().display(), "looking for what a killed command left");
            match undo(&entry, &here) {
                Ok(None) => {}
                Ok(Some(one)) => recovered.push(one),
                Err(error) => recovered.push(Recovered {
                    left: Left::Unreadable(entry.path()),
                    undone: Err(error),
                }),
            }
        }
        Ok(recovered)
    }

    /// All claims that hold in this namespace. What cannot be read is left out: [`crate::recover`] tells of it.
    pub fn holdings(&self) -> Result<Vec<Holding>, UndoError> {
        let here = Place::here()?;
        let entries = self.entries()?.into_iter();
        let holdings = entries.filter_map(|entry| holding(&entry, &here).ok().flatten());
        Ok(holdings.collect())
    }

    fn entry(&self, resource: &Resource, namespace: u64) -> Result<Entry, UndoError> {
        let stem = resource.file_stem();
        let name = match resource.is_of_namespace() {
            true => format!("{namespace:x}-{stem}.{ENDING}"),
            false => format!("{stem}.{ENDING}"),
        };
        Ok(match resource.outlasts_boot() {
            true => Folder::open(self.lasting.clone())?.entry(name),
            false => self.folder.entry(name),
        })
    }

    /// Those of what outlasts a boot come last: units that are stopped for them may have journals of this boot.
    fn entries(&self) -> Result<Vec<Entry>, UndoError> {
        let mut entries = self.folder.entries(ENDING)?;
        if self.lasting.exists() {
            entries.extend(Folder::open(self.lasting.clone())?.entries(ENDING)?);
        }
        Ok(entries)
    }
}

/// Undoes one journal, if its owner is dead and it is of here and now.
fn undo(entry: &Entry, here: &Place) -> Result<Option<Recovered>, UndoError> {
    let Some(Locked::ByUs(file)) = open_locked(entry, false)? else {
        return Ok(None);
    };
    let record = read(&file.0, entry)?;
    // Without a head it was killed before it had claimed anything.
    let Some(head) = record.head.filter(|head| here.has(head)) else {
        entry.remove()?;
        return Ok(None);
    };
    let is_here = !head.resource.is_of_namespace() || head.namespace == here.namespace;
    if record.is_kept || !is_here {
        return Ok(None);
    }
    Ok(Some(Recovered {
        left: Left::Change {
            resource: head.resource.clone(),
            pid: head.pid,
            command: head.purpose.command.clone(),
        },
        undone: claim(entry.clone(), file, head, record.steps).and_then(Claim::undo),
    }))
}

fn holding(entry: &Entry, here: &Place) -> Result<Option<Holding>, UndoError> {
    let Some(locked) = open_locked(entry, false)? else {
        return Ok(None);
    };
    let is_alive = matches!(locked, Locked::ByAnother);
    let record = match &locked {
        Locked::ByUs(file) => read(&file.0, entry)?,
        Locked::ByAnother => match entry.open(false)? {
            Some(file) => read(&file, entry)?,
            None => return Ok(None),
        },
    };
    let is_here = |head: &Head| {
        let is_near = !head.resource.is_of_namespace() || head.namespace == here.namespace;
        here.has(head) && is_near
    };
    Ok(record.head.filter(is_here).map(|head| Holding {
        resource: head.resource,
        pid: head.pid,
        purpose: head.purpose,
        is_alive,
        is_kept: record.is_kept,
    }))
}

/// Where and when this process runs.
struct Place {
    boot: String,
    namespace: u64,
}

impl Place {
    /// Whether what was claimed is still there: not what was before the last boot.
    fn has(&self, head: &Head) -> bool {
        head.boot == self.boot || head.resource.outlasts_boot()
    }

    fn here() -> Result<Place, UndoError> {
        let boot = fs::read_to_string(BOOT).map_err(at(Path::new(BOOT)))?;
        Ok(Place {
            boot: boot.trim().to_owned(),
            namespace: namespace().map_err(UndoError::Kernel)?,
        })
    }
}

/// The cookie of this thread's network namespace, which no other one has until the next boot. Kernels before 5.14 have none,
/// and the inode's number serves.
fn namespace() -> io::Result<u64> {
    match network_cookie()? {
        Some(cookie) => Ok(cookie),
        None => Ok(fs::metadata("/proc/thread-self/ns/net")?.ino()),
    }
}

enum Locked {
    ByUs(Lock),
    ByAnother,
}

/// A locked file. It is unlocked by word, because a child between its fork and its program has it too.
#[derive(Debug)]
pub(crate) struct Lock(pub(crate) File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// What a journal says now, if it can be read.
fn glance(entry: &Entry) -> Option<Record> {
    let file = entry.open(false).ok().flatten()?;
    read(&file, entry).ok()
}

/// Whether the owner lives; if not, a command of its is still at it.
fn has_living_owner(entry: &Entry) -> bool {
    let pid = glance(entry).and_then(|record| Pid::from_raw(record.head?.pid as i32));
    // Who has not written yet who he is does so now.
    pid.is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Opens and locks, if nobody else has it locked. None: there is no such file, and none was to be made.
fn open_locked(entry: &Entry, make: bool) -> Result<Option<Locked>, UndoError> {
    let mut looks = 0;
    loop {
        let Some(file) = entry.open(make)? else {
            return Ok(None);
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if looks == LOOKS || has_living_owner(entry) => {
                return Ok(Some(Locked::ByAnother));
            }
            Err(Errno::WOULDBLOCK) => {
                looks += 1;
                sleep(LOOK);
                continue;
            }
            locked => locked.map_err(|error| entry.failed(error.into()))?,
        }
        // Its last owner may have removed it meanwhile.
        if entry.names(&file)? {
            return Ok(Some(Locked::ByUs(Lock(file))));
        }
    }
}

/// Who has it, from its first line.
fn taken(entry: &Entry, resource: &Resource) -> UndoError {
    let mut head = None;
    for _ in 0..LOOKS {
        head = glance(entry).and_then(|record| record.head);
        if head.is_some() {
            break;
        }
        sleep(LOOK);
    }
    UndoError::Taken {
        resource: resource.clone(),
        pid: head.as_ref().map_or(0, |head| head.pid),
        command: head.map_or_else(|| "unknown".to_owned(), |head| head.purpose.command),
    }
}

fn read(mut file: &File, entry: &Entry) -> Result<Record, UndoError> {
    let mut text = String::new();
    let length = Read::take(&mut file, LONGEST_BYTES + 1).read_to_string(&mut text);
    let path = entry.path();
    if length.map_err(|error| entry.failed(error))? as u64 > LONGEST_BYTES {
        return Err(UndoError::TooLong { path });
    }
    Record::read(&text).map_err(|fault| match fault {
        Fault::Line(line, source) => UndoError::Journal { path, line, source },
        Fault::Newer(version) => UndoError::Newer { path, version },
    })
}

fn claim(entry: Entry, file: Lock, head: Head, steps: Vec<Step>) -> Result<Claim, UndoError> {
    Ok(Claim {
        netlink: Netlink::open().map_err(UndoError::Kernel)?,
        entry,
        file,
        head,
        steps,
        is_settled: false,
    })
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> UndoError {
    let path = path.to_owned();
    move |source| UndoError::File { path, source }
}
