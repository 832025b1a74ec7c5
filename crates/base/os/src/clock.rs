//! The kernel's clocks.

use rustix::time::{ClockId, clock_gettime};
use unbloat_units::{Delta, Time};

/// Since the machine (or guest) began, without jumps.
#[inline]
pub fn monotonic() -> Time {
    read(ClockId::Monotonic)
}

/// Of people and of the stamps of packets; it may jump when it is set.
#[inline]
pub fn wall() -> Time {
    read(ClockId::Realtime)
}

/// CPU time of this thread, the kernel's share included.
pub fn thread_cpu() -> Delta {
    read(ClockId::ThreadCPUTime).since(Time::from_ns(0))
}

#[inline]
fn read(clock: ClockId) -> Time {
    let now = clock_gettime(clock);
    Time::from_ns(now.tv_sec * 1_000_000_000 + now.tv_nsec)
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
        wall().since(self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_cpu_time_and_no_more_than_passes() {
        let (begun, cpu) = (monotonic(), thread_cpu());
        while thread_cpu() - cpu < Delta::ms(2) {}
        assert!(monotonic().since(begun) >= Delta::ms(2));
    }
}
