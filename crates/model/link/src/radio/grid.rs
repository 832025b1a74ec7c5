//! The grid of transmission time intervals.

use unbloat_units::{Delta, Time};

/// A TTI of LTE: 1 ms.
pub(crate) const TTI: Delta = Delta::ms(1);
/// TTIs between the end of a transmission and what its receiver does about it (FDD: a grant in n
/// is used in n + 4, a block in n is answered in n + 4). 3GPP TS 36.213 sections 7.3 and 8.
pub(crate) const PROCESSING: i64 = 3;
/// TTIs from one transmission to what answers it.
pub(crate) const ANSWER: i64 = PROCESSING + 1;
/// TTIs between transmissions of one block: eight HARQ processes.
pub(crate) const HARQ_ROUND: i64 = 2 * ANSWER;

/// TTIs numbered from the time at which the element was built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    start: Time,
}

impl Grid {
    pub(crate) fn new(start: Time) -> Grid {
        Grid { start }
    }

    /// When a TTI begins.
    pub(crate) fn time(self, tti: i64) -> Time {
        self.start + TTI * tti
    }

    /// When what is sent in a TTI has been received and decoded.
    pub(crate) fn decoded(self, tti: i64) -> Time {
        self.time(tti + 1 + PROCESSING)
    }

    /// The first TTI that begins after `now`.
    pub(crate) fn after(self, now: Time) -> i64 {
        (now - self.start).as_ns().div_euclid(TTI.as_ns()) + 1
    }

    /// The first TTI that begins at or after `now`.
    pub(crate) fn from(self, now: Time) -> i64 {
        self.after(now - Delta::ns(1))
    }
}
