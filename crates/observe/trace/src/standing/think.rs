//! How long servers take to answer, by what they send meanwhile.
//!
//! A host that acknowledges a request by itself and sends its answer later made that gap, whoever captures
//! and whether or not the request was captured too. Clients' gaps are their users' pauses, for which nobody waits.
//!
//! Where the server's packets were not captured, the client's echoes tell: the stamp of the answer less that of the request
//! is the way up and the answer's making, up to a constant.

use super::floor::RunningFloor;
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

/// Answers as the client's echoes tell of them; times in nanoseconds of either host's clock.
#[derive(Clone, Copy, Default)]
pub(super) struct Echoes {
    /// When the first request was stamped that has no answer yet, and how late it was at the capture point.
    asked: Option<(i64, Delta)>,
    floor: RunningFloor,
}

impl Echoes {
    pub(super) fn ask(&mut self, stamped_ns: i64, late: Delta) {
        self.asked.get_or_insert((stamped_ns, late));
    }

    /// An answer came, stamped at a time of the server's clock. Returns what it took beyond the least.
    pub(super) fn answer(&mut self, now: Time, stamped_ns: i64) -> Option<Delta> {
        let (asked_ns, late) = self.asked.take()?;
        let took_us = (stamped_ns - asked_ns) / 1_000;
        let added = self.floor.added(now, took_us) - late;
        (added >= Gap::LEAST).then_some(added)
    }
}
