//! What a simulation can make sense of: beyond these bounds a value is a slip of the pen.

use std::ops::RangeInclusive;
use unbloat_units::{Bytes, Delta, Rate};

/// Spans that may be nothing.
pub(super) const SPAN: RangeInclusive<Delta> = Delta::ZERO..=Delta::secs(86_400);

/// Spans after which something happens again: never so short that virtual time stands still.
pub(super) const PERIOD: RangeInclusive<Delta> = Delta::us(1)..=Delta::secs(86_400);

pub(super) const RATE: RangeInclusive<Rate> = Rate::bps(1)..=FASTEST;

/// Rates of a direction that may stand still for a while.
pub(super) const RATE_OR_NONE: RangeInclusive<Rate> = Rate::ZERO..=FASTEST;

/// A full packet takes 12 ns at this rate, which stands for no bottleneck at all.
pub(super) const FASTEST: Rate = Rate::bps(1_000_000_000_000);

/// Buffers, files and windows.
pub(super) const SIZE: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::new(1_000_000_000_000);

/// Bytes of a frame's or a packet's parts.
pub(super) const FRAME_BYTES: RangeInclusive<u32> = 0..=65_535;

/// Things of which a million are plenty.
pub(super) const COUNT: RangeInclusive<u32> = 1..=1_000_000;

/// Weights and factors.
pub(super) const WEIGHT: RangeInclusive<u32> = 0..=1_000_000;
