//! Standard output and standard error.
//!
//! A command fails with an error if it cannot write to standard output. If the reader has closed the pipe (`| head`), the command ends without
//! a message, as after SIGPIPE: see [`reader_is_gone`]. Errors of standard error are ignored, because a closed terminal must not prevent a
//! command from restoring the host.

use crate::terminal;
use serde::Serialize;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_untrusted::styled;

static READER_IS_GONE: AtomicBool = AtomicBool::new(false);

#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
pub struct PrintError(#[from] io::Error);

/// Standard output as a writer. The last writer must flush it.
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

/// Whether the reader of standard output has closed the pipe.
pub fn reader_is_gone() -> bool {
    READER_IS_GONE.load(Ordering::Relaxed)
}

/// Writes and flushes a text, laid out for the terminal if there is one. What it quotes of others does nothing to that.
pub fn text(text: &str) -> Result<(), PrintError> {
    raw(&terminal::stdout().lay(&styled(text)))
}

/// Writes and flushes a text for programs as it is.
pub fn raw(text: &str) -> Result<(), PrintError> {
    let mut out = out();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

#[cfg(feature = "router")]
pub fn line(text: impl std::fmt::Display) -> Result<(), PrintError> {
    self::text(&format!("{text}\n"))
}

/// Prints a document for programs as one line.
#[cfg(feature = "router")]
pub fn json(document: &impl Serialize) -> Result<(), PrintError> {
    raw(&(serde_json::to_string(document).map_err(io::Error::from)? + "\n"))
}

/// A document as a file has it.
pub fn document(document: &impl Serialize) -> Result<String, PrintError> {
    let text = serde_json::to_string_pretty(document).map_err(io::Error::from)?;
    Ok(text + "\n")
}

/// Writes a line to standard error, laid out for the terminal if there is one; ignores errors.
pub fn remark(words: std::fmt::Arguments<'_>) {
    let text = terminal::stderr().lay(&styled(&words.to_string()));
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints a line to standard error; ignores errors.
macro_rules! note {
    () => {
        crate::print::remark(format_args!(""))
    };
    ($($words:tt)*) => {
        crate::print::remark(format_args!($($words)*))
    };
}
pub(crate) use note;
