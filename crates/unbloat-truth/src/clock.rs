//! One clock for captures, truth files and kernel events.

use crate::error::LabError;
use nix::time::{ClockId, clock_gettime};
use unbloat_units::{Delta, Time};

/// Wall-clock time that runs like the monotonic clock.
///
/// The offset between the two is taken once, so that a step or slew of the system's time during a
/// run cannot pull the logs apart, and times from BPF (monotonic) convert exactly.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    offset: Delta,
}

impl Clock {
    /// Takes the offset from the tightest of a few paired readings.
    pub fn start() -> Clock {
        let offset = (0..32)
            .map(|_| {
                let before = read(ClockId::CLOCK_MONOTONIC);
                let wall = read(ClockId::CLOCK_REALTIME);
                let gap = read(ClockId::CLOCK_MONOTONIC) - before;
                (gap, wall.since(before) - gap / 2)
            })
            .min()
            .map(|(_, offset)| offset);
        Clock {
            offset: offset.unwrap_or_default(),
        }
    }

    pub fn now(&self) -> Time {
        read(ClockId::CLOCK_MONOTONIC) + self.offset
    }

    /// Wall-clock stamps that the kernel gave are of this clock as long as nobody sets the system's
    /// time: slewing moves both alike.
    pub(crate) fn check(&self) -> Result<(), LabError> {
        let apart = Clock::start().offset - self.offset;
        let tolerated = Delta::us(10);
        if apart > tolerated || Delta::ZERO - apart > tolerated {
            return Err(LabError::ClockSet);
        }
        Ok(())
    }

    /// The same instant on this clock.
    pub fn from_monotonic_ns(&self, ns: u64) -> Time {
        Time::from_ns(ns as i64) + self.offset
    }
}

fn read(clock: ClockId) -> Time {
    let now = clock_gettime(clock).expect("Linux has both clocks");
    Time::from_ns(now.tv_sec() * 1_000_000_000 + now.tv_nsec())
}
