//! The folder of all claims.

use crate::claim::Claim;
use crate::error::UndoError;
use crate::netlink::Netlink;
use crate::record::{Head, Line, Record};
use crate::resource::{Purpose, Resource};
use crate::step::Step;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

const FOLDER: &str = "/run/unbloat";
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
    folder: PathBuf,
}

/// What a killed command had left, and whether it could be undone.
#[derive(Debug)]
pub struct Recovered {
    pub resource: Resource,
    pub pid: u32,
    pub command: String,
    pub undone: Result<(), UndoError>,
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
    /// Those of this system: in `/run/unbloat`, or `$UNBLOAT_RUN`.
    pub fn system() -> Result<Journals, UndoError> {
        let folder = std::env::var_os(VARIABLE).unwrap_or_else(|| FOLDER.into());
        Journals::at(folder.into())
    }

    /// Those in a folder, which is made if it is not there.
    pub fn at(folder: PathBuf) -> Result<Journals, UndoError> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.map_err(|source| UndoError::Folder {
            path: folder.clone(),
            source,
        })?;
        Ok(Journals { folder })
    }

    /// As [`Claim::take`].
    pub fn take(&self, resource: &Resource, purpose: &Purpose) -> Result<Claim, UndoError> {
        let here = Place::here()?;
        let path = self.path(resource, here.namespace);
        let locked = open_locked(&path, true)?.unwrap_or(Locked::ByAnother);
        let Locked::ByUs(file) = locked else {
            return Err(taken(&path, resource));
        };
        let record = read(&file.0, &path)?;
        if record.is_kept && record.head.as_ref().is_some_and(|h| h.boot == here.boot) {
            let command = record.head.map_or(String::new(), |h| h.purpose.command);
            let resource = resource.clone();
            return Err(UndoError::Kept { resource, command });
        }
        let fresh = Head {
            resource: resource.clone(),
            pid: std::process::id(),
            purpose: purpose.clone(),
            boot: here.boot.clone(),
            namespace: here.namespace,
        };
        match record.head {
            // The dead owner's file goes with what it had done.
            Some(head) if head.boot == here.boot => {
                claim(path, file, head, record.steps)?.undo()?;
                self.take(resource, purpose)
            }
            _ => {
                file.0.set_len(0).map_err(at(&path))?;
                let mut claim = claim(path, file, fresh.clone(), Vec::new())?;
                claim.write(&Line::Claim(fresh))?;
                Ok(claim)
            }
        }
    }

    /// As [`Claim::kept`].
    pub fn kept(&self, resource: &Resource) -> Result<Option<Claim>, UndoError> {
        let here = Place::here()?;
        let path = self.path(resource, here.namespace);
        let file = match open_locked(&path, false)? {
            None => return Ok(None),
            Some(Locked::ByAnother) => return Err(taken(&path, resource)),
            Some(Locked::ByUs(file)) => file,
        };
        let record = read(&file.0, &path)?;
        match record.head {
            Some(head) if record.is_kept && head.boot == here.boot => {
                let mut claim = claim(path, file, head, record.steps)?;
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
        for path in self.files()? {
            let Some(Locked::ByUs(file)) = open_locked(&path, false)? else {
                continue;
            };
            let record = read(&file.0, &path)?;
            let Some(head) = record.head else {
                // Killed before it had claimed anything.
                remove(&path)?;
                continue;
            };
            if head.boot != here.boot {
                remove(&path)?;
                continue;
            }
            let is_here = !head.resource.is_of_namespace() || head.namespace == here.namespace;
            if record.is_kept || !is_here {
                continue;
            }
            recovered.push(Recovered {
                resource: head.resource.clone(),
                pid: head.pid,
                command: head.purpose.command.clone(),
                undone: claim(path, file, head, record.steps).and_then(Claim::undo),
            });
        }
        Ok(recovered)
    }

    /// All claims that hold in this namespace.
    pub fn holdings(&self) -> Result<Vec<Holding>, UndoError> {
        let here = Place::here()?;
        let mut holdings = Vec::new();
        for path in self.files()? {
            let Some(locked) = open_locked(&path, false)? else {
                continue;
            };
            let is_alive = matches!(locked, Locked::ByAnother);
            let record = match &locked {
                Locked::ByUs(file) => read(&file.0, &path)?,
                Locked::ByAnother => File::open(&path)
                    .map_err(at(&path))
                    .and_then(|file| read(&file, &path))?,
            };
            let Some(head) = record.head.filter(|head| head.boot == here.boot) else {
                continue;
            };
            if !head.resource.is_of_namespace() || head.namespace == here.namespace {
                holdings.push(Holding {
                    resource: head.resource,
                    pid: head.pid,
                    purpose: head.purpose,
                    is_alive,
                    is_kept: record.is_kept,
                });
            }
        }
        Ok(holdings)
    }

    fn path(&self, resource: &Resource, namespace: u64) -> PathBuf {
        let stem = resource.file_stem();
        self.folder.join(match resource.is_of_namespace() {
            true => format!("{namespace:x}-{stem}.{ENDING}"),
            false => format!("{stem}.{ENDING}"),
        })
    }

    /// In order of their names.
    fn files(&self) -> Result<Vec<PathBuf>, UndoError> {
        let listed = fs::read_dir(&self.folder).map_err(at(&self.folder))?;
        let mut paths: Vec<PathBuf> = listed
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
            .collect();
        paths.sort();
        Ok(paths)
    }
}

/// Where and when this process runs.
struct Place {
    boot: String,
    namespace: u64,
}

impl Place {
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
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    let mut cookie = 0u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `cookie`.
    let code = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    match code {
        0 => Ok(cookie),
        _ => Ok(fs::metadata("/proc/thread-self/ns/net")?.ino()),
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

/// Whether the owner lives; if not, a command of its is still at it.
fn has_living_owner(path: &Path) -> bool {
    let record = File::open(path).ok().and_then(|f| read(&f, path).ok());
    let pid = record.and_then(|r| Pid::from_raw(r.head?.pid as i32));
    // Who has not written yet who he is does so now.
    pid.is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Opens and locks, if nobody else has it locked. None: there is no such file, and none was to be made.
fn open_locked(path: &Path, make: bool) -> Result<Option<Locked>, UndoError> {
    let mut looks = 0;
    loop {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(make).mode(0o600);
        let file = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !make => return Ok(None),
            opened => opened.map_err(at(path))?,
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if looks == LOOKS || has_living_owner(path) => {
                return Ok(Some(Locked::ByAnother));
            }
            Err(Errno::WOULDBLOCK) => {
                looks += 1;
                sleep(LOOK);
                continue;
            }
            locked => locked.map_err(|error| at(path)(error.into()))?,
        }
        // Its last owner may have removed it meanwhile.
        let ours = file.metadata().map_err(at(path))?.ino();
        if fs::metadata(path).is_ok_and(|named| named.ino() == ours) {
            return Ok(Some(Locked::ByUs(Lock(file))));
        }
    }
}

/// Who has it, from its first line.
fn taken(path: &Path, resource: &Resource) -> UndoError {
    let mut head = None;
    for _ in 0..LOOKS {
        let record = File::open(path).ok().and_then(|f| read(&f, path).ok());
        head = record.and_then(|record| record.head);
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

fn read(mut file: &File, path: &Path) -> Result<Record, UndoError> {
    let mut text = String::new();
    let length = Read::take(&mut file, LONGEST_BYTES + 1).read_to_string(&mut text);
    if length.map_err(at(path))? as u64 > LONGEST_BYTES {
        let path = path.to_owned();
        return Err(UndoError::TooLong { path });
    }
    Record::read(&text).map_err(|(line, source)| UndoError::Journal {
        path: path.to_owned(),
        line,
        source,
    })
}

fn claim(path: PathBuf, file: Lock, head: Head, steps: Vec<Step>) -> Result<Claim, UndoError> {
    Ok(Claim {
        netlink: Netlink::open().map_err(UndoError::Kernel)?,
        path,
        file,
        head,
        steps,
        is_settled: false,
    })
}

fn remove(path: &Path) -> Result<(), UndoError> {
    fs::remove_file(path).map_err(at(path))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> UndoError {
    let path = path.to_owned();
    move |source| UndoError::File { path, source }
}
