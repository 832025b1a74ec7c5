//! Exit codes.

/// How a command ended. Usage errors exit with 2, as clap does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: complete.
    Complete,
    /// 1: failed.
    Failed,
    /// 3: done, but an input was cut or corrupt; the result covers the part before the damage.
    Damaged,
    /// 4: done, but a bound or tolerance was exceeded, or a fix did not help.
    OutOfBounds,
    /// 5: done, but the measurement is not valid; the output gives the reason.
    Untrusted,
    /// 130: stopped by Ctrl-C; the result covers what was measured until then.
    Interrupted,
    /// The exit code of a command that was run for the user.
    Of(u8),
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> u8 {
        match exit {
            Exit::Complete => 0,
            Exit::Failed => 1,
            Exit::Damaged => 3,
            Exit::OutOfBounds => 4,
            Exit::Untrusted => 5,
            Exit::Interrupted => 130,
            Exit::Of(code) => code,
        }
    }
}
