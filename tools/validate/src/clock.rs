//! The kernel's monotonic times on the wall clock, which captures are stamped by.

use crate::error::ValidateError;
use nix::time::{ClockId, clock_gettime};
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
            let before = read(ClockId::CLOCK_MONOTONIC);
            let wall = read(ClockId::CLOCK_REALTIME);
            let gap = read(ClockId::CLOCK_MONOTONIC) - before;
            (gap, wall.since(before) - gap / 2)
        };
        let tightest = (0..32).map(pair).min();
        Clock {
            offset: tightest.map(|(_, offset)| offset).unwrap_or_default(),
        }
    }

    pub(crate) fn now(self) -> Time {
        read(ClockId::CLOCK_MONOTONIC) + self.offset
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

fn read(clock: ClockId) -> Time {
    let now = clock_gettime(clock).expect("Linux has both clocks");
    Time::from_ns(now.tv_sec() * 1_000_000_000 + now.tv_nsec())
}
