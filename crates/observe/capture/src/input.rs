//! Where captures come from: the words of a command line made into inputs, and inputs opened.

use crate::CaptureError;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One place that a capture is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    File(PathBuf),
    Stdin,
    Stored(Stored),
}

/// A place for captures that is no folder of this machine.
pub trait Storage: Send + Sync {
    /// The bytes of what has this name, from byte `from` on, and how many bytes it has in all.
    fn read(&self, name: &str, from: u64) -> io::Result<(Box<dyn Read + Send>, u64)>;
}

/// A capture in such a place.
#[derive(Clone)]
pub struct Stored {
    /// As messages and run.json call it.
    pub name: String,
    pub storage: Arc<dyn Storage>,
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stored").field(&self.name).finish()
    }
}

impl PartialEq for Stored {
    fn eq(&self, other: &Stored) -> bool {
        self.name == other.name
    }
}

impl Eq for Stored {}

impl Input {
    /// Makes inputs of a user's words, in their order.
    ///
    /// `-` is standard input. A word that names a file is that file, whatever its characters; a
    /// word with `*`, `?` or `[` is a pattern, and the files that match come sorted by name.
    pub fn expand<S: AsRef<str>>(
        words: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Input>, CaptureError> {
        let mut inputs = Vec::new();
        for word in words {
            match word.as_ref() {
                "-" => inputs.push(Input::Stdin),
                word if word.contains(['*', '?', '[']) && !Path::new(word).exists() => {
                    inputs.extend(matches(word)?);
                }
                word => inputs.push(Input::File(word.into())),
            }
        }
        Ok(inputs)
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::File(path) => path.display().fmt(f),
            Input::Stdin => f.write_str("standard input"),
            Input::Stored(stored) => f.write_str(&stored.name),
        }
    }
}

fn matches(pattern: &str) -> Result<Vec<Input>, CaptureError> {
    let bad = |error: glob::PatternError| CaptureError::Pattern {
        pattern: pattern.to_owned(),
        reason: error.msg.to_owned(),
    };
    let files: Vec<Input> = glob::glob(pattern)
        .map_err(bad)?
        .filter_map(Result::ok)
        // A FIFO that lies there would be waited for.
        .filter(|path| path.is_file())
        .map(Input::File)
        .collect();
    if files.is_empty() {
        let pattern = pattern.to_owned();
        return Err(CaptureError::NoMatch { pattern });
    }
    Ok(files)
}

/// An opened input: its bytes as stored.
pub(crate) struct Opened {
    pub(crate) bytes: Box<dyn Read + Send>,
    /// How many of them have been read.
    pub(crate) done: Arc<AtomicU64>,
    /// How many there were when it was opened; `None` for pipes.
    pub(crate) total: Option<u64>,
}

impl Opened {
    /// The bytes from byte `from` on; standard input has only those from 0 on.
    pub(crate) fn new(input: &Input, from: u64) -> Result<Opened, CaptureError> {
        let failed = |source| CaptureError::Open {
            input: input.to_string(),
            source,
        };
        match input {
            Input::Stdin => Ok(Opened::stream(io::stdin(), None)),
            Input::File(path) => open_file(path, from).map_err(failed)?,
            Input::Stored(stored) => {
                let read = stored.storage.read(&stored.name, from);
                let (bytes, total) = read.map_err(failed)?;
                Ok(Opened::stream(bytes, Some(total)))
            }
        }
    }

    pub(crate) fn stream(bytes: impl Read + Send + 'static, total: Option<u64>) -> Opened {
        let done = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            bytes,
            done: Arc::clone(&done),
        };
        Opened {
            bytes: Box::new(counted),
            done,
            total,
        }
    }
}

fn open_file(path: &Path, from: u64) -> io::Result<Result<Opened, CaptureError>> {
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        let input = path.display().to_string();
        return Ok(Err(CaptureError::Directory { input }));
    }
    let total = meta.is_file().then_some(meta.len());
    if from > 0 {
        file.seek(SeekFrom::Start(from))?;
    }
    Ok(Ok(Opened::stream(file, total)))
}

struct Counted<R> {
    bytes: R,
    done: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.done.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}
