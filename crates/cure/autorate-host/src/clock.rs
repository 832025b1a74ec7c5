//! Time. All that is decided goes by the monotonic clock: see `unbloat_os::clock`.

pub(crate) use unbloat_os::clock::monotonic as now;
use unbloat_os::clock::wall;
use unbloat_units::Time;

/// A moment by the wall clock as it is now: for people, and never to decide by.
pub fn by_wall_clock(at: Time) -> Time {
    at + (wall() - now())
}
