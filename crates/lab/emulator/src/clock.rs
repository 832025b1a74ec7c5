//! The run's clock: nanoseconds of CLOCK_MONOTONIC since a chosen zero.

use unbloat_units::Time;

/// Tells the time of a run. Copies tell the same time; so does whoever subtracts the same zero from CLOCK_MONOTONIC.
pub trait Clock {
    fn now(&self) -> Time;
}

/// CLOCK_MONOTONIC, from a zero on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monotonic {
    zero_ns: i64,
}

impl Monotonic {
    /// The clock whose zero is now.
    pub fn start() -> Monotonic {
        Monotonic {
            zero_ns: monotonic_ns(),
        }
    }

    /// The clock whose zero is that time of CLOCK_MONOTONIC, in ns; it may lie in the future.
    pub fn since(zero_ns: i64) -> Monotonic {
        Monotonic { zero_ns }
    }

    pub fn zero_ns(&self) -> i64 {
        self.zero_ns
    }
}

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Time {
        Time::from_ns(monotonic_ns() - self.zero_ns)
    }
}

#[inline]
pub(crate) fn monotonic_ns() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

pub(crate) fn realtime_ns() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of the calling thread, kernel's share included, in ns.
pub(crate) fn thread_cpu_ns() -> i64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[inline]
fn read(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a live timespec; both clocks exist on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
