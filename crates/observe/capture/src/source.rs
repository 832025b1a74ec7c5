//! What all sources of packets have in common.

use crate::{CaptureError, Notes, Progress, Record};
use unbloat_units::Delta;

/// Packets one after the other, from files, a stream or an interface.
pub trait Source: Send {
    /// The next packet, lent until the next call.
    ///
    /// `None` when there is none now: for good when [`ended`](Source::ended) says so, otherwise
    /// (live capture only) for the time-out that the source was given.
    fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError>;

    /// Hands up to `max` packets to `sink` and returns how many: the same packets as by `next`,
    /// without its cost for each.
    ///
    /// Returns fewer rather than wait for more, and 0 only where `next` would give `None`.
    fn fill(&mut self, max: usize, sink: &mut dyn FnMut(Record<'_>))
    -> Result<usize, CaptureError>;

    /// In live capture, how long packets may wait for others before they are looked at; `None` of files and streams.
    fn patience(&self) -> Option<Delta> {
        None
    }

    /// Takes in no more packets. In live capture, those that have come are still given before the source has [`ended`](Source::ended). Files and
    /// streams do nothing: the caller just stops reading.
    fn close(&mut self) {}

    /// Whether no packet can follow any more.
    fn ended(&self) -> bool;

    fn progress(&self) -> Progress;

    /// What is known so far of damage and drops; asks the kernel in live capture.
    fn notes(&mut self) -> Notes;
}
