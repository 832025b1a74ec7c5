//! Standard output and standard error, whatever became of them.
//!
//! Standard output is what a command is for: where it cannot be written, the command fails and says why. Where its reader has gone (`| head`)
//! there is nobody to say it to: [`reader_is_gone`], and the command ends as those do that the signal of a broken pipe ends.
//! Standard error is for people, who may have closed the terminal: that is no reason to end before a host is as it was.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static READER_IS_GONE: AtomicBool = AtomicBool::new(false);

#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
pub struct PrintError(#[from] io::Error);

/// Standard output, for writers; flushed by whoever writes the last of it.
pub struct Out(());

pub fn out() -> Out {
    Out(())
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[expect(clippy::disallowed_methods, reason = "all others come here")]
        io::stdout().write(bytes).map_err(seen)
    }

    fn flush(&mut self) -> io::Result<()> {
        #[expect(clippy::disallowed_methods, reason = "all others come here")]
        io::stdout().flush().map_err(seen)
    }
}

fn seen(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        READER_IS_GONE.store(true, Ordering::Relaxed);
    }
    error
}

/// Whether somebody read standard output and does so no longer.
pub fn reader_is_gone() -> bool {
    READER_IS_GONE.load(Ordering::Relaxed)
}

/// All of a text, now.
pub fn text(text: &str) -> Result<(), PrintError> {
    let mut out = out();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

pub fn line(text: impl std::fmt::Display) -> Result<(), PrintError> {
    self::text(&format!("{text}\n"))
}

/// A line to people, if they are still there.
macro_rules! note {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}
pub(crate) use note;
