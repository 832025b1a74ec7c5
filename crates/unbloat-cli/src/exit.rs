//! What the exit code says.

use std::process::ExitCode;

/// How a command ended. Usage errors exit with 2, as clap does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done, and nothing is missing.
    Complete,
    /// 1: it could not be done.
    Failed,
    /// 3: done, but an input was cut or corrupt; the result holds all that came before.
    Damaged,
    /// 4: done, but a bound of the scenario was not kept.
    OutOfBounds,
    /// 5: done, but what was measured is not to be trusted, as is said.
    Untrusted,
    /// 130: stopped by Ctrl-C; the result holds what was known then.
    Interrupted,
    /// 141: nobody reads standard output any more; as a shell tells of a command that SIGPIPE ended.
    Unread,
    /// What a command that was run for the user ended with.
    Of(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Complete => 0,
            Exit::Failed => 1,
            Exit::Damaged => 3,
            Exit::OutOfBounds => 4,
            Exit::Untrusted => 5,
            Exit::Interrupted => 130,
            Exit::Unread => 141,
            Exit::Of(code) => code,
        })
    }
}
