//! Time since a run began.

use nix::time::{ClockId, clock_gettime};
use unbloat_units::{Delta, Time};

/// The monotonic clock of this machine (or guest).
pub fn monotonic() -> Time {
    read(ClockId::CLOCK_MONOTONIC)
}

fn read(clock: ClockId) -> Time {
    let now = clock_gettime(clock).expect("Linux has this clock");
    Time::from_ns(now.tv_sec() * 1_000_000_000 + now.tv_nsec())
}

/// CPU time of this thread, the kernel's share included.
pub(crate) fn thread_cpu() -> Delta {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID).since(Time::from_ns(0))
}

/// Counts from the moment when a run began.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: Time,
}

impl Clock {
    /// A run that begins, or began, when the monotonic clock shows `zero`.
    pub fn from(zero: Time) -> Clock {
        Clock { zero }
    }

    pub fn now(self) -> Time {
        Time::from_ns(0) + monotonic().since(self.zero)
    }

    /// What the wall clock is ahead of this one: stamps of packets are by the wall clock.
    pub fn wall_ahead(self) -> Delta {
        read(ClockId::CLOCK_REALTIME).since(self.now())
    }
}
