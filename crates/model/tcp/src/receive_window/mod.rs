//! Rules for the receive window: one file each, one line in the registry.
//!
//! A rule says how large a window it would offer. The receiver does the rest: it subtracts what
//! waits to be read, keeps silly windows away, scales, and never retracts what was offered, so that
//! a smaller window takes effect only as data arrives (RFC 9293 section 3.8.6).

mod registry;

pub mod drs;
pub mod drs2012;
pub mod drwa;
pub mod fixed;
pub mod rledbat;

pub use registry::{AnyRule, Config, NAMES};

use std::ops::RangeInclusive;
use unbloat_params::Settings;
use unbloat_units::Bytes;

/// What 16 bits and a scale of 14 can express (RFC 7323 section 2.3).
const WINDOW: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::mib(1_024);

/// The first window and the largest.
fn bounds<S: Settings>(
    settings: &mut S,
    initial: Bytes,
    max: Bytes,
) -> Result<(Bytes, Bytes), S::Error> {
    let max = settings.within("max", max, &WINDOW)?;
    let initial = settings.within("initial", initial.min(max), &WINDOW)?;
    if initial > max {
        return Err(settings.fault(format!(
            "\"initial\" is {initial} and \"max\" is {max}; \"initial\" must not be above \"max\""
        )));
    }
    Ok((initial, max))
}

/// What a rule sees of its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Microseconds of a clock that never stands at zero.
    pub now_us: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Round-trip time as the receiver sees it, smoothed, times eight; zero while unknown.
    pub rtt_us8: u32,
    /// The sample of this segment, if it gave one (by timestamps, without them by the time that a window of data takes), and the
    /// least one by timestamps so far.
    pub rtt_us: Option<u32>,
    pub min_rtt_us: u32,
    /// Bytes that arrived in order, and of these how many the application has read.
    pub received: u64,
    pub read: u64,
    /// The segment at hand was sent again.
    pub is_retransmission: bool,
}

/// A rule for the receive window.
pub trait Rule {
    /// A segment with `bytes` of data has arrived, in order or not.
    fn on_segment(&mut self, _view: &View, _bytes: u32) {}

    /// The application has read.
    fn on_read(&mut self, _view: &View) {}

    /// Whether the window stands for a buffer's memory, of which merged segments take less than single ones.
    fn counts_memory(&self) -> bool {
        false
    }

    /// The window to offer while nothing waits to be read, bytes.
    fn window(&self) -> u32;
}
