//! Work in bits times nanoseconds per second: the unit in which rate times time is a whole number.

use unbloat_units::{Delta, Rate, Time};

/// Work of a byte: a link of 8 Gbit/s does it in a nanosecond.
pub(crate) const PER_BYTE: i128 = 8_000_000_000;

/// What a rate does in a span; nothing in a negative one.
pub(crate) fn done(rate: Rate, span: Delta) -> i128 {
    i128::from(rate.as_bps()) * i128::from(span.as_ns().max(0))
}

/// The whole nanoseconds after which a rate has done at least this, and what it has done beyond.
/// `None` if it never will.
#[inline]
pub(crate) fn time_for(work: i128, rate: Rate) -> Option<(Delta, i128)> {
    if work <= 0 {
        return Some((Delta::ZERO, -work));
    }
    if rate == Rate::ZERO {
        return None;
    }
    // Almost always 64 bits are enough; a division of 128 costs several times as much.
    if let Ok(short) = u64::try_from(work) {
        let ns = short.div_ceil(rate.as_bps());
        // Less than the rate, so the two products may wrap.
        let beyond = ns.wrapping_mul(rate.as_bps()).wrapping_sub(short);
        return Some((Delta::ns(i64::try_from(ns).ok()?), beyond.into()));
    }
    let bps = i128::from(rate.as_bps());
    let ns = (work + bps - 1) / bps;
    Some((Delta::ns(i64::try_from(ns).ok()?), ns * bps - work))
}

/// The point of a busy period at which a server stands: a whole nanosecond, and the work that it
/// has already done on the next packet by then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ahead(u64);

impl Ahead {
    pub(crate) fn reset(&mut self) {
        self.0 = 0;
    }

    /// What is left to do of a packet.
    #[inline]
    pub(crate) fn take(&mut self, wire_bytes: u64) -> i128 {
        i128::from(wire_bytes) * PER_BYTE - i128::from(std::mem::take(&mut self.0))
    }

    /// When a packet is done that is begun at `start`, at a rate that stays.
    #[inline(always)]
    pub(crate) fn finish_packet(&mut self, start: Time, wire_bytes: u64, rate: Rate) -> Time {
        // Almost always 64 bits are enough.
        let whole = wire_bytes.checked_mul(PER_BYTE as u64);
        if let Some(left) = whole.and_then(|whole| whole.checked_sub(self.0))
            && rate > Rate::bps(1)
        {
            let ns = left.div_ceil(rate.as_bps());
            // Less than the rate, so the two may wrap.
            self.0 = ns.wrapping_mul(rate.as_bps()).wrapping_sub(left);
            return start + Delta::ns(ns as i64);
        }
        self.finish_long(start, wire_bytes, rate)
    }

    #[inline(never)]
    fn finish_long(&mut self, start: Time, wire_bytes: u64, rate: Rate) -> Time {
        let work = self.take(wire_bytes);
        self.finish(start, work, rate)
    }

    /// When `work` is done at `rate` from `start` on.
    #[inline]
    pub(crate) fn finish(&mut self, start: Time, work: i128, rate: Rate) -> Time {
        match time_for(work, rate) {
            Some((span, beyond)) => {
                self.0 = beyond as u64;
                start + span
            }
            None => Time::MAX,
        }
    }
}
