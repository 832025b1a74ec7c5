//! Exit codes.

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

/// Wrong usage, as the message says.
#[cfg(feature = "router")]
pub fn usage(error: &impl std::fmt::Display) -> Exit {
    crate::print::note!(
        "unbloat: {}",
        unbloat_untrusted::harmless(&error.to_string())
    );
    Exit::Usage
}

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
