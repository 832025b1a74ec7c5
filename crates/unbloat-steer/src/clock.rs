//! Time. All that is decided goes by the monotonic clock: see `unbloat_capture::monotonic`.

use rustix::time::{ClockId, clock_gettime};
pub(crate) use unbloat_capture::monotonic as now;
use unbloat_units::Time;

/// A moment by the wall clock as it is now: for people, and never to decide by.
pub fn by_wall_clock(at: Time) -> Time {
    let wall = clock_gettime(ClockId::Realtime);
    let wall = Time::from_ns(wall.tv_sec * 1_000_000_000 + wall.tv_nsec);
    at + (wall - now())
}
