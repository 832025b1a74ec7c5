//! Exit codes, and the errors behind them.

use std::error::Error;
use std::io;
use std::path::Path;

/// How a command ended; docs/usage.md has the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: complete.
    Complete,
    /// 1: failed.
    Failed,
    /// 2: wrong usage that only the command itself can find; clap exits so, too.
    Usage,
    /// 3: done, but an input was cut or corrupt; the result covers the part before the damage.
    Damaged,
    /// 4: done, and the answer is no: out of bounds, wrongly configured, not confirmed, or not helped.
    OutOfBounds,
    /// 5: done, but the measurement is not valid; the output gives the reason.
    Untrusted,
    /// 130: stopped by Ctrl-C; the result covers what was measured until then.
    Interrupted,
    /// The exit code of a command that was run for the user.
    Of(u8),
}

/// Why a command failed: what, why, and what to do, in words for the user.
///
/// Nothing of it is decided by, but for what [`downcast_ref`](Error::downcast_ref) asks for.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What could not be done with a file, as in "cannot read FILE: no such file".
pub fn cannot(doing: &str, path: &Path) -> impl Fn(io::Error) -> Failure + Copy {
    move |error| format!("cannot {doing} {}: {error}", path.display()).into()
}

/// Options that only the command itself can find wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub &'static str);

impl From<Exit> for u8 {
    fn from(exit: Exit) -> u8 {
        match exit {
            Exit::Complete => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Damaged => 3,
            Exit::OutOfBounds => 4,
            Exit::Untrusted => 5,
            Exit::Interrupted => 130,
            Exit::Of(code) => code,
        }
    }
}
