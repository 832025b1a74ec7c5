//! Who made it: the mark in the name of everything that outlives a killed process.
//!
//! A mark is `ub-<pid>-<start>`: a process by its number and the time at which it started, so that a
//! number used again is not taken for the one that it was. What carries the mark of a process that
//! no longer lives may be removed by anybody ([`crate::sweep`]); nothing else may.

use std::fmt;
use std::fs;
use std::io;

const PREFIX: &str = "ub-";
/// Of `/proc/<pid>/stat` behind the command's name (proc_pid_stat(5)): the first field there is 3.
const STATE: usize = 0;
const START: usize = 22 - 3;

/// A process that makes things which must be removed if it cannot do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Maker {
    pid: u32,
    /// In ticks of the system's clock since boot.
    start: u64,
}

impl Maker {
    /// This process.
    pub fn this() -> io::Result<Maker> {
        let pid = std::process::id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let (_, start) = state_and_start(&stat)
            .ok_or_else(|| io::Error::other(format!("cannot read /proc/{pid}/stat")))?;
        Ok(Maker { pid, start })
    }

    /// Whose mark a name begins with, if with any.
    pub fn of(name: &str) -> Option<Maker> {
        let mut parts = name.strip_prefix(PREFIX)?.split('-');
        let pid = parts.next()?.parse().ok()?;
        let start = parts.next()?.parse().ok()?;
        Some(Maker { pid, start })
    }

    pub fn pid(self) -> u32 {
        self.pid
    }

    /// Whether the process still runs. A zombie does not, nor another one of the same number.
    pub fn is_alive(self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid));
        let found = stat.ok().and_then(|stat| state_and_start(&stat));
        found.is_some_and(|(state, start)| start == self.start && !matches!(state, 'Z' | 'X'))
    }
}

/// The mark.
impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}-{}", self.pid, self.start)
    }
}

/// The command's name may hold anything, also spaces and brackets.
fn state_and_start(stat: &str) -> Option<(char, u64)> {
    let (_, behind) = stat.rsplit_once(')')?;
    let fields: Vec<_> = behind.split_whitespace().collect();
    let state = fields.get(STATE)?.chars().next()?;
    Some((state, fields.get(START)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_its_maker() {
        let this = Maker::this().unwrap();
        assert_eq!(Maker::of(&format!("{this}-0-client")), Some(this));
        assert_eq!(this.pid(), std::process::id());
        assert!(this.is_alive());
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let this = Maker::this().unwrap();
        let before = Maker {
            start: this.start - 1,
            ..this
        };
        assert!(!before.is_alive());
    }

    #[test]
    fn other_names_have_no_maker() {
        for name in ["", "ub-", "ub-1", "ub-x-1-a", "ub-1-x", "mn-1-2", "1-2-a"] {
            assert_eq!(Maker::of(name), None, "{name}");
        }
    }

    #[test]
    fn a_command_may_be_called_anything() {
        let stat = "7 (a) b) (c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9";
        assert_eq!(state_and_start(stat), Some(('S', 4711)));
        assert_eq!(state_and_start("7 (a"), None);
    }
}
