//! Bins of time that the tables `rtt` and `in_flight` are thinned to.

use super::Context;
use unbloat_units::Time;

/// The end of the bin that is being filled. Kept, because telling bins apart by division would
/// cost every packet more than the rest of its sample.
#[derive(Clone, Copy, Default)]
pub(crate) struct BinEnd {
    begin: Time,
    end: Time,
}

impl BinEnd {
    /// Whether `now` lies in another bin than the time before; with bins of zero width every
    /// sample has its own.
    #[inline]
    pub(crate) fn is_over(&mut self, now: Time, cx: &Context<'_>) -> bool {
        if self.begin <= now && now < self.end {
            return false;
        }
        let width = cx.params.bin;
        if width.as_ns() > 0 {
            let number = cx.since_origin(now).div_euclid(width.as_ns());
            self.begin = cx.origin + width * number;
            self.end = self.begin + width;
        }
        true
    }
}
