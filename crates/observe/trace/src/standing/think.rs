//! How long servers take to answer, by what they send meanwhile.
//!
//! A host that acknowledges a request by itself and sends its answer later made that gap, whoever captures
//! and whether or not the request was captured too. Clients' gaps are their users' pauses, for which nobody waits.

use crate::tcp::{AckKind, Segment};
use unbloat_units::{Delta, Direction, Time};

/// Gaps of a server's own.
#[derive(Clone, Copy, Default)]
pub(super) struct Gap {
    /// When the server acknowledged all that it was asked, if it has said nothing since.
    acknowledged: Option<Time>,
}

impl Gap {
    /// Less is what hosts take to wake a process, and what one of them takes to make any answer.
    pub(super) const LEAST: Delta = Delta::ms(20);
    /// What comes later is no answer, but news.
    const MOST: Delta = Delta::secs(10);

    #[inline]
    pub(super) fn on_packet(&mut self, seg: &Segment<'_>) -> Option<Delta> {
        let has_payload = seg.header.payload_len > 0;
        match seg.side {
            Direction::Up if has_payload => self.acknowledged = None,
            Direction::Up => {}
            Direction::Down if has_payload => {
                let gap = seg.now.since_bounded(self.acknowledged.take()?);
                let is_answer = seg.advanced > 0 && gap >= Self::LEAST && gap <= Self::MOST;
                return is_answer.then_some(gap);
            }
            Direction::Down if seg.is_pure_ack() && seg.ack == AckKind::Advance => {
                self.acknowledged = (seg.remaining == 0).then_some(seg.now);
            }
            Direction::Down => {}
        }
        None
    }
}
