//! The kernel's monotonic times on the wall clock, which captures are stamped by.

use crate::error::ValidateError;
use unbloat_os::clock::{monotonic, wall};
use unbloat_units::{Delta, Time};

/// Wall-clock time that runs like the monotonic clock: the offset between the two is taken once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    offset: Delta,
}

impl Clock {
    /// Takes the offset from the tightest of a few paired readings.
    pub(crate) fn start() -> Clock {
        let pair = |_| {
            let before = monotonic();
            let walls = wall();
            let gap = monotonic() - before;
            (gap, walls.since(before) - gap / 2)
        };
        let tightest = (0..32).map(pair).min();
        Clock {
            offset: tightest.map(|(_, offset)| offset).unwrap_or_default(),
        }
    }

    pub(crate) fn now(self) -> Time {
        monotonic() + self.offset
    }

    /// What the wall clock showed at a monotonic time.
    pub(crate) fn wall(self, monotonic_ns: u64) -> Time {
        Time::from_ns(monotonic_ns as i64) + self.offset
    }

    /// Stamps of captures are of this clock as long as nobody sets the system's time: slewing moves both alike.
    pub(crate) fn check(self) -> Result<(), ValidateError> {
        let apart = Clock::start().offset - self.offset;
        let tolerated = Delta::us(10);
        if apart > tolerated || Delta::ZERO - apart > tolerated {
            return Err(ValidateError::ClockSet);
        }
        Ok(())
    }
}
