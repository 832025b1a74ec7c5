//! Configuration files of the system that make a change return after a boot. Only new ones are written, and only those that are still as they were
//! written are removed.

use crate::error::UndoError;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

const PLACES: [&str; 2] = ["/etc/systemd/network/", "/etc/systemd/system/"];
/// Part of the name of each file.
const OURS: &str = "unbloat";
/// The name that a file has until all of it is written; systemd reads none that ends so.
const UNFINISHED: &str = ".unfinished";
const LONGEST_BYTES: u64 = 64 << 10;

/// Those that commands here write, and nothing else.
pub(crate) fn is_place(path: &Path) -> bool {
    let is_below = PLACES.iter().any(|place| path.starts_with(place));
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let named = path.file_name().map(|name| name.as_bytes().to_vec());
    let is_ours = |name: &[u8]| name.windows(OURS.len()).any(|part| part == OURS.as_bytes());
    is_below && is_plain && named.is_some_and(|name| is_ours(&name))
}

/// A folder below one of those places.
pub(crate) fn is_folder_place(path: &Path) -> bool {
    is_place(&path.join(OURS)) && PLACES.iter().all(|place| path != Path::new(place))
}

/// Writes a new file, whole or not at all, and durably.
pub fn write_text(path: &Path, text: &str) -> Result<(), UndoError> {
    let unfinished = unfinished(path);
    let write = || -> io::Result<()> {
        clear(&unfinished)?;
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    place(path, &unfinished, write())
}

/// Makes a new symbolic link.
pub fn write_link(path: &Path, target: &str) -> Result<(), UndoError> {
    let unfinished = unfinished(path);
    let made = clear(&unfinished).and_then(|()| symlink(target, &unfinished));
    place(path, &unfinished, made)
}

/// Gives a file its name, unless another has it already.
fn place(path: &Path, unfinished: &Path, written: io::Result<()>) -> Result<(), UndoError> {
    let named = written.and_then(|()| {
        renameat_with(CWD, unfinished, CWD, path, RenameFlags::NOREPLACE)?;
        sync_folder(path)
    });
    named.map_err(|source| {
        let _ = clear(unfinished);
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::AlreadyExists => UndoError::FileExists { path },
            _ => UndoError::File { path, source },
        }
    })
}

fn clear(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent()
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// What stands there: the text of a file, or what a link points to. None: nothing.
fn found(path: &Path, is_link: bool) -> io::Result<Option<Vec<u8>>> {
    let read = || match (is_link, fs::symlink_metadata(path)?.is_symlink()) {
        (true, true) => Ok(fs::read_link(path)?.as_os_str().as_bytes().to_vec()),
        (false, false) => {
            let mut text = Vec::new();
            File::open(path)?
                .take(LONGEST_BYTES)
                .read_to_end(&mut text)?;
            Ok(text)
        }
        _ => Err(io::Error::other("it is a file of another kind")),
    };
    match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Whether it is there and is not what was written.
pub(crate) fn is_edited(path: &Path, text: &str, is_link: bool) -> bool {
    let found = found(path, is_link);
    found.map_or(true, |found| {
        found.is_some_and(|found| found != text.as_bytes())
    })
}

/// Removes what was written, and what was to become it.
pub(crate) fn remove(path: &Path, text: &str, is_link: bool) -> io::Result<()> {
    if !is_place(path) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if is_edited(path, text, is_link) {
        return Err(io::Error::other("changed since unbloat wrote it"));
    }
    clear(path)?;
    clear(&unfinished(path))?;
    match sync_folder(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a folder, unless somebody has put something into it.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    if !is_folder_place(path) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_unbloat_below_systemd_s_folders_are_written_or_removed() {
        for path in [
            "/etc/passwd",
            "/etc/unbloat",
            "/etc/systemd/network/../unbloat",
            "/etc/systemd/system/../../unbloat.conf",
            "etc/systemd/system/unbloat.service",
            "/etc/systemd/system/ssh.service",
            "/etc/systemd/system/unbloat.d/ssh.service",
            "/etc/systemd/network",
        ] {
            assert!(!is_place(Path::new(path)), "{path}");
            assert!(remove(Path::new(path), "", false).is_err(), "{path}");
        }
        assert!(is_place(Path::new(
            "/etc/systemd/network/10-wan.network.d/50-unbloat.conf"
        )));
        for path in [
            "/etc",
            "/etc/systemd/network",
            "/etc/systemd/system/..",
            "/",
        ] {
            assert!(remove_folder(Path::new(path)).is_err(), "{path}");
        }
        assert!(is_folder_place(Path::new(
            "/etc/systemd/system/multi-user.target.wants"
        )));
    }

    #[test]
    fn a_file_that_is_there_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("50-unbloat.conf");
        write_text(&path, "ours").unwrap();
        let again = write_text(&path, "other");
        assert!(matches!(again, Err(UndoError::FileExists { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        assert!(!is_edited(&path, "ours", false));
        assert!(is_edited(&path, "theirs", false));
        assert!(is_edited(&path, "ours", true));
        let link = folder.path().join("unbloat.service");
        write_link(&link, "../unbloat.service").unwrap();
        assert!(matches!(
            write_link(&link, "x"),
            Err(UndoError::FileExists { .. })
        ));
        assert!(!is_edited(&link, "../unbloat.service", true));
        assert!(is_edited(&link, "../unbloat.service", false));
    }
}
