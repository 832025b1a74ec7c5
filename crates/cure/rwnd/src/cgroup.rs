//! Control groups: found, made, joined, left, removed.

use crate::error::WindowError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// How often a group is asked for that somebody has, and how long it is waited in between.
const CLAIMS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(100);

/// How often it is tried to empty a group.
const REMOVALS: u32 = 5;

/// A folder of the cgroup2 file system.
#[derive(Debug)]
pub struct Cgroup {
    name: String,
    path: PathBuf,
    folder: File,
}

impl Cgroup {
    /// The one of that name, as in `/proc/PID/cgroup` (`/` is the root).
    pub fn open(name: &str) -> Result<Cgroup, WindowError> {
        let root = root()?;
        let path = below(&root, name)?;
        let folder = match File::open(&path) {
            Ok(folder) if path.join("cgroup.procs").exists() => folder,
            _ => {
                return Err(WindowError::NoCgroup {
                    name: name.to_owned(),
                    root,
                });
            }
        };
        Ok(Cgroup {
            name: name.to_owned(),
            path,
            folder,
        })
    }

    /// Makes a new one.
    pub fn make(name: &str) -> Result<Cgroup, WindowError> {
        let path = below(&root()?, name)?;
        fs::create_dir(&path).map_err(at(&path))?;
        Cgroup::open(name)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Nobody else holds the windows of this group as long as it is open here or in a process that was forked. Waits a moment:
    /// what a dead owner left may be on its way out.
    pub fn claim(&self) -> Result<(), WindowError> {
        for _ in 0..CLAIMS {
            match flock(&self.folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(()),
                Err(Errno::WOULDBLOCK) => {}
                Err(error) => return Err(at(&self.path)(error.into())),
            }
            sleep(PAUSE);
        }
        Err(WindowError::Taken {
            cgroup: self.name.clone(),
            pid: self.owner(),
        })
    }

    /// Who has claimed it; zero: nobody knows.
    fn owner(&self) -> u32 {
        let inode = self.folder.metadata().map_or(0, |meta| meta.ino());
        let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
        let mut owners = locks.lines().filter_map(|line| {
            let mut fields = line.split_whitespace().skip(4);
            let pid = fields.next()?.parse().ok()?;
            let file = fields.next()?.rsplit(':').next()?;
            (file.parse() == Ok(inode)).then_some(pid)
        });
        owners.next().unwrap_or(0)
    }

    /// Lets a command start in it.
    pub fn admit(&self, command: &mut Command) -> Result<(), WindowError> {
        let path = self.path.join("cgroup.procs");
        let file = File::options().write(true).open(&path);
        let file = file.map_err(at(&path))?;
        // SAFETY: one system call. Zero is who writes.
        unsafe { command.pre_exec(move || (&file).write_all(b"0")) };
        Ok(())
    }

    /// Moves a process into it; zero is the caller.
    pub fn join(&self, pid: u32) -> Result<(), WindowError> {
        let path = self.path.join("cgroup.procs");
        fs::write(&path, pid.to_string()).map_err(at(&path))
    }

    /// Who is in it.
    pub fn processes(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Who is in it or in groups below it.
    pub(crate) fn all_processes(&self) -> BTreeSet<u32> {
        let mut all = BTreeSet::new();
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            all.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.extend(below.map(|entry| entry.path()));
        }
        all
    }

    /// Moves everybody to the group above, and removes it.
    pub fn remove(&self) -> Result<(), WindowError> {
        // Who is moved may have made another one meanwhile.
        for _ in 0..REMOVALS {
            self.empty();
            if fs::remove_dir(&self.path).is_ok() {
                return Ok(());
            }
        }
        match fs::remove_dir(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(&self.path)(error)),
            _ => Ok(()),
        }
    }

    fn empty(&self) {
        let above = self.path.parent().unwrap_or(&self.path);
        let above = above.join("cgroup.procs");
        for pid in self.processes() {
            // Who has ended need not be moved.
            let _ = fs::write(&above, pid.to_string());
        }
    }
}

impl AsFd for Cgroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// Where groups are that were made for one run: their names tell whose they are.
const MARK: &str = "unbloat-drwa-";

/// The name of a group that this process makes for itself, below its own.
pub fn own_name() -> String {
    let pid = std::process::id();
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut groups = text.lines().filter_map(|line| line.strip_prefix("0::/"));
    let own = groups.next().map(|name| name.trim_end_matches('/'));
    let name = format!("{MARK}{pid}-{}", started(pid).unwrap_or(0));
    match own {
        Some(own) if !own.is_empty() => format!("{own}/{name}"),
        _ => name,
    }
}

/// Removes groups that dead processes made for themselves; returns their names.
pub fn sweep() -> Vec<String> {
    let Ok(root) = root() else { return Vec::new() };
    let mut found = Vec::new();
    left(&root, "", &mut found);
    found.retain(|name| {
        Cgroup::open(name).is_ok_and(|group| {
            crate::lift::lift(&group, None);
            group.remove().is_ok()
        })
    });
    found
}

/// Finds such groups below a folder of the root.
fn left(root: &Path, within: &str, found: &mut Vec<String>) {
    let entries = fs::read_dir(root.join(within))
        .into_iter()
        .flatten()
        .flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    for name in folders.filter_map(|entry| entry.file_name().into_string().ok()) {
        let is_left = maker(&name).is_some_and(|(pid, start)| started(pid) != Some(start));
        let path = match within {
            "" => name,
            within => format!("{within}/{name}"),
        };
        if is_left {
            found.push(path);
        } else {
            left(root, &path, found);
        }
    }
}

fn maker(name: &str) -> Option<(u32, u64)> {
    let (pid, start) = name.strip_prefix(MARK)?.split_once('-')?;
    Some((pid.parse().ok()?, start.parse().ok()?))
}

/// When a process began, by `/proc/PID/stat`; none: there is none, or it has ended.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> WindowError {
    let path = path.to_owned();
    |source| WindowError::File { path, source }
}

/// Where the cgroup2 file system is mounted.
fn root() -> Result<PathBuf, WindowError> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut found = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let path = fields.nth(1)?;
        (fields.next()? == "cgroup2").then(|| PathBuf::from(path))
    });
    found.next().ok_or(WindowError::NoCgroups)
}

fn below(root: &Path, name: &str) -> Result<PathBuf, WindowError> {
    let relative = Path::new(name.trim_start_matches('/'));
    let is_plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || name.is_empty() || name.contains(char::is_control) {
        return Err(WindowError::Name(name.to_owned()));
    }
    Ok(root.join(relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_the_root() {
        let root = Path::new("/groups");
        for name in ["", "../etc", "a/../../b", "a\nb", "./.."] {
            assert!(below(root, name).is_err(), "{name:?}");
        }
        assert_eq!(below(root, "/a b/c;d").unwrap(), root.join("a b/c;d"));
        assert_eq!(below(root, "/").unwrap(), root.join(""));
    }

    #[test]
    fn the_name_of_a_group_tells_who_made_it() {
        let own = own_name();
        let (pid, start) = maker(own.rsplit('/').next().unwrap()).unwrap();
        assert_eq!(pid, std::process::id());
        assert_eq!(started(pid), Some(start));
        assert_eq!(maker("unbloat-drwa-x"), None);
        assert_eq!(maker("system.slice"), None);
    }
}
