//! Time since the applications began.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use unbloat_irtt::Clocks;
use unbloat_units::{Delta, Time};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    zero: Instant,
}

impl Clock {
    pub(crate) fn begin() -> Clock {
        Clock {
            zero: Instant::now(),
        }
    }

    pub(crate) fn now(self) -> Time {
        Time::from_ns(ns(self.zero.elapsed()))
    }

    /// By both clocks of this machine.
    pub(crate) fn clocks(self) -> Clocks {
        self.at(wall())
    }

    /// The instant at which the wall clock showed, or shows, that.
    pub(crate) fn at(self, wall_then: Time) -> Clocks {
        let ahead = wall().since(self.now());
        Clocks {
            wall: wall_then,
            mono: wall_then - ahead,
        }
    }

    pub(crate) fn instant(self, at: Time) -> tokio::time::Instant {
        let since = at.since(Time::from_ns(0)).as_ns().max(0);
        (self.zero + Duration::from_nanos(since as u64)).into()
    }
}

fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Time::from_ns(since.map_or(0, ns))
}

fn ns(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// A span for tokio's timers.
pub(crate) fn duration(span: Delta) -> Duration {
    Duration::from_nanos(span.as_ns().max(0) as u64)
}
