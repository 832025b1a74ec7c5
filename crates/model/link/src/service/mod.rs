//! Servers: how long the bytes of a packet take, one file each, and the list of them.

pub mod bucket;
mod carried;
pub mod chances;
pub mod constant;
pub mod markov;
pub(crate) mod profile;
mod registry;
pub mod steps;
pub(crate) mod work;

pub use registry::{AnyService, Config, NAMES};

use unbloat_units::Time;

/// A server of one packet after the other, in virtual time.
///
/// Departures follow departures: a server that is kept busy must not lose time to the rounding of
/// its departure times to whole nanoseconds.
pub trait Service {
    /// When a free server takes the next packet, of which one waits at `now`. `busy` says that
    /// `now` is the moment at which the previous packet left. Not called again before it began.
    #[inline]
    fn ready(&mut self, now: Time, busy: bool) -> Time {
        let _ = busy;
        now
    }

    /// When the last byte has left of a packet taken at `begin`; `Time::MAX` for never. Rounded up.
    fn finish(&mut self, begin: Time, wire_bytes: u64) -> Time;

    /// The largest packet that ever leaves, in bytes on the wire.
    fn longest(&self) -> Option<u64> {
        None
    }
}
