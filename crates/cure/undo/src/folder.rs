//! The folder of all journals. What is written there is done as root, so nobody else may write there.

use crate::error::UndoError;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Open: what is looked at is what is used, whatever becomes of its name.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    opened: Arc<OwnedFd>,
}

/// A name in it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    folder: Folder,
    name: OsString,
}

impl Folder {
    /// It is made if it is not there.
    pub(crate) fn open(path: PathBuf) -> Result<Folder, UndoError> {
        let failed = |source: io::Error| UndoError::Folder {
            path: path.clone(),
            source,
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&path, flags, Mode::empty());
        let opened = opened.map_err(|error| failed(error.into()))?;
        let stat = rustix::fs::fstat(&opened).map_err(|error| failed(error.into()))?;
        check(&stat, &path)?;
        Ok(Folder {
            path,
            opened: Arc::new(opened),
        })
    }

    pub(crate) fn entry(&self, name: impl Into<OsString>) -> Entry {
        Entry {
            folder: self.clone(),
            name: name.into(),
        }
    }

    /// All whose names end so, in order.
    pub(crate) fn entries(&self, ending: &str) -> Result<Vec<Entry>, UndoError> {
        let failed = |error: Errno| UndoError::File {
            path: self.path.clone(),
            source: error.into(),
        };
        let mut names = Vec::new();
        for found in Dir::read_from(&self.opened).map_err(failed)? {
            let found = found.map_err(failed)?;
            let name = OsStr::from_bytes(found.file_name().to_bytes());
            if Path::new(name).extension() == Some(OsStr::new(ending)) {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names.into_iter().map(|name| self.entry(name)).collect())
    }
}

impl Entry {
    /// For messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path.join(&self.name)
    }

    /// To read, and to write at its end where that can be. None: there is no such file, and none was to be made.
    pub(crate) fn open(&self, make: bool) -> Result<Option<File>, UndoError> {
        let mut writes = OFlags::RDWR | OFlags::APPEND;
        writes.set(OFlags::CREATE, make);
        let mode = Mode::RUSR | Mode::WUSR;
        let open = |flags| {
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&self.folder.opened, &self.name, flags, mode)
        };
        let opened = match open(writes) {
            // Units may write in /run alone: what lasts is only read there.
            Err(Errno::ROFS) if !make => open(OFlags::RDONLY),
            opened => opened,
        };
        let file = match opened {
            Err(Errno::NOENT) if !make => return Ok(None),
            opened => File::from(opened.map_err(|error| self.failed(error.into()))?),
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| self.failed(error.into()))?;
        let path = self.path();
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            let why = "it is not a regular file";
            return Err(UndoError::Foreign { path, why });
        }
        if stat.st_nlink > 1 {
            let why = "it has another hard link";
            return Err(UndoError::Foreign { path, why });
        }
        check(&stat, &path)?;
        Ok(Some(file))
    }

    /// Whether this is still the file's name.
    pub(crate) fn names(&self, file: &File) -> Result<bool, UndoError> {
        let ours = rustix::fs::fstat(file).map_err(|error| self.failed(error.into()))?;
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let named = rustix::fs::statat(&self.folder.opened, &self.name, flags);
        Ok(named.is_ok_and(|named| (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino)))
    }

    /// If it is there.
    pub(crate) fn remove(&self) -> Result<(), UndoError> {
        let removed = rustix::fs::unlinkat(&self.folder.opened, &self.name, AtFlags::empty());
        match removed {
            Err(Errno::NOENT) => Ok(()),
            removed => removed.map_err(|error| self.failed(error.into())),
        }
    }

    pub(crate) fn failed(&self, source: io::Error) -> UndoError {
        let path = self.path();
        UndoError::File { path, source }
    }
}

/// Whether nobody but this process's user can have written it.
fn check(stat: &Stat, path: &Path) -> Result<(), UndoError> {
    let why = if stat.st_uid != rustix::process::geteuid().as_raw() {
        "it belongs to another user"
    } else if stat.st_mode & 0o022 != 0 {
        "other users can write to it"
    } else {
        return Ok(());
    };
    Err(UndoError::Foreign {
        path: path.to_owned(),
        why,
    })
}
