//! Files in folders that others may have filled: a run, a campaign, an archive that was unpacked.
//!
//! Such a folder may have a link where a file is expected, and `File::create` would write through it, `File::open` read through it; or a FIFO,
//! whose opening never ends. All that is read from such a folder or written into it passes through here.

use rustix::fs::OFlags;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Opens a file of such a folder for reading. Only a plain file is opened, and no link.
///
/// # Errors
/// It is of another kind, or cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().read(true), path, OFlags::NOFOLLOW)
}

/// Opens a file that a document named or the user set up once, through links. Only a plain file is opened.
///
/// # Errors
/// It is of another kind, or cannot be opened.
pub fn open_named(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().read(true), path, OFlags::empty())
}

/// Opens what the user's own command line names, which may be a pipe (`<(command)`) or a link of theirs.
///
/// # Errors
/// It cannot be opened.
pub fn open_any(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Creates or empties what the user's own command line names, which may be a link of theirs, a FIFO or `/dev/stdout`.
///
/// # Errors
/// It cannot be written.
pub fn create_named(path: &Path) -> io::Result<File> {
    File::create(path)
}

/// All of a file of such a folder.
///
/// # Errors
/// As [`open`]; or it is longer than `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    all(open(path)?, most)
}

/// All of a file that a document named or the user set up once.
///
/// # Errors
/// As [`open_named`]; or it is longer than `most` bytes.
pub fn read_named(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    all(open_named(path)?, most)
}

/// All that is left of a file that is open.
///
/// # Errors
/// It cannot be read, or is longer than `most` bytes: it is not cut.
pub fn all(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(format!("longer than {most} bytes"))),
        false => Ok(bytes),
    }
}

/// As [`all`], of text.
///
/// # Errors
/// As [`all`]; or it is not UTF-8.
pub fn text(file: impl Read, most: u64) -> io::Result<String> {
    String::from_utf8(all(file, most)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Opens a file of such a folder to lock it or to add to its end. It is made if it is missing; what it has stays.
///
/// # Errors
/// As [`open`].
pub fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    plain(options.create(true).append(true), path, OFlags::NOFOLLOW)
}

fn plain(options: &mut OpenOptions, path: &Path, flags: OFlags) -> io::Result<File> {
    // Opening a device does things: a watchdog begins to wait, a tape is wound back.
    let found = match flags.contains(OFlags::NOFOLLOW) {
        true => fs::symlink_metadata(path),
        false => fs::metadata(path),
    };
    if found.is_ok_and(|found| !found.is_file() && !found.is_symlink()) {
        return Err(io::Error::other(NOT_PLAIN));
    }
    // What has its place since then. Without it, opening a FIFO waits for its other end.
    let flags = flags | OFlags::NONBLOCK;
    let opened = options.custom_flags(flags.bits() as i32).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::other("it is a symbolic link, which is not followed"),
        Some(libc::ENXIO) => io::Error::other(NOT_PLAIN),
        _ => error,
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(NOT_PLAIN)),
    }
}

const NOT_PLAIN: &str = "it is not a plain file";

/// Writes a file into such a folder, whole or not at all. What had its name is replaced; a link is, not what it points to.
///
/// # Errors
/// It cannot be written, or a folder has its name.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = Replacement::of(path)?;
    file.write_all(bytes.as_ref())?;
    file.put()
}

/// A file that is being written into such a folder, under a name of its own. Dropped before [`Replacement::put`], it vanishes.
pub struct Replacement {
    file: BufWriter<File>,
    unfinished: PathBuf,
    path: PathBuf,
    is_put: bool,
}

impl Replacement {
    /// Begins a file that will be at `path`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn of(path: &Path) -> io::Result<Replacement> {
        let Some(name) = path.file_name() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        loop {
            let unfinished = path.with_file_name(unfinished_name(name));
            // It opens no file that is there, and follows no link.
            match File::create_new(&unfinished) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                file => {
                    return Ok(Replacement {
                        file: BufWriter::new(file?),
                        unfinished,
                        path: path.to_owned(),
                        is_put: false,
                    });
                }
            }
        }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// The rest cannot be written, or a folder has its name.
    pub fn put(mut self) -> io::Result<()> {
        self.file.flush()?;
        fs::rename(&self.unfinished, &self.path)?;
        self.is_put = true;
        Ok(())
    }
}

/// In the name of an unfinished file, before the numbers of its process and of the file.
const OURS: &str = ".unbloat-";

/// A hidden name, which nobody has used most likely.
fn unfinished_name(name: &std::ffi::OsStr) -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!("{OURS}{}-{number}", std::process::id()));
    hidden
}

/// Whether a file's name is that of a [`Replacement`], which a killed process left.
pub fn is_unfinished(name: &str) -> bool {
    let numbers = || name.strip_prefix('.')?.rsplit_once(OURS)?.1.split_once('-');
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    numbers().is_some_and(|(process, number)| is_number(process) && is_number(number))
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.is_put {
            let _ = fs::remove_file(&self.unfinished);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    /// A folder of a stranger beside a file of the user.
    fn folder() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let (precious, strange) = (place.path().join("precious"), place.path().join("run"));
        fs::write(&precious, "mine").unwrap();
        fs::create_dir(&strange).unwrap();
        (place, precious, strange)
    }

    #[test]
    fn a_link_is_replaced_and_not_written_through() {
        let (_place, precious, strange) = folder();
        let (report, dangling) = (strange.join("report.html"), strange.join("page.html"));
        symlink("../precious", &report).unwrap();
        symlink("../new", &dangling).unwrap();
        for path in [&report, &dangling] {
            replace(path, "drawn").unwrap();
            assert_eq!(fs::read(path).unwrap(), b"drawn");
            assert!(fs::symlink_metadata(path).unwrap().is_file());
        }
        assert_eq!(fs::read(&precious).unwrap(), b"mine");
        assert!(!strange.join("../new").exists());
        assert_eq!(fs::read_dir(&strange).unwrap().count(), 2);
    }

    #[test]
    fn only_plain_files_are_opened() {
        let (_place, precious, strange) = folder();
        let (link, fifo) = (strange.join("link"), strange.join("fifo"));
        symlink(&precious, &link).unwrap();
        let mode = Mode::from_raw_mode(0o600);
        mknodat(CWD, &fifo, FileType::Fifo, mode, 0).unwrap();
        for path in [&link, &fifo, &strange, &PathBuf::from("/dev/null")] {
            assert!(open(path).is_err(), "{}", path.display());
            assert!(append(path).is_err(), "{}", path.display());
        }
        assert!(open_named(&fifo).is_err());
        assert!(open_named(&link).is_ok());
        append(&precious).unwrap();
        assert_eq!(read(&precious, 4).unwrap(), b"mine");
        assert!(read(&precious, 3).is_err());
        assert_eq!(
            open(&strange.join("none")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    /// Who waits for the other end of a FIFO goes on as soon as anybody opens it.
    #[test]
    fn what_is_no_plain_file_is_not_even_opened() {
        let place = tempfile::tempdir().unwrap();
        let fifo = place.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let other_end = {
            let fifo = fifo.clone();
            std::thread::spawn(move || OpenOptions::new().write(true).open(fifo))
        };
        let while_it_waits = || std::thread::sleep(Duration::from_millis(50));
        while_it_waits();
        assert!(open(&fifo).is_err() && open_named(&fifo).is_err());
        while_it_waits();
        assert!(!other_end.is_finished());
        let _opened = File::open(&fifo).unwrap();
        other_end.join().unwrap().unwrap();
    }

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let (_place, precious, strange) = folder();
        let path = strange.join("report.html");
        fs::write(&path, "before").unwrap();
        let mut file = Replacement::of(&path).unwrap();
        let hidden = file.unfinished.file_name().unwrap().to_str().unwrap();
        assert!(is_unfinished(hidden), "{hidden}");
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(fs::read_dir(&strange).unwrap().count(), 1);
        for name in [
            ".git",
            ".unbloat-",
            ".x.unbloat-1",
            "x.unbloat-1-2",
            ".x.unbloat-1-2.txt",
        ] {
            assert!(!is_unfinished(name), "{name}");
        }
        // A folder that has the name stays.
        fs::create_dir(strange.join("folder")).unwrap();
        assert!(replace(&strange.join("folder"), "").is_err());
        assert_eq!(fs::read_dir(&strange).unwrap().count(), 2);
        assert_eq!(fs::read(precious).unwrap(), b"mine");
    }
}
