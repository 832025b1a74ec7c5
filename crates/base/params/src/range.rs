//! Bounds of parameters: beyond them a value is a typing error.

use std::ops::RangeInclusive;
use unbloat_units::{Bytes, Delta, Rate};

/// Spans that may be nothing.
pub const SPAN: RangeInclusive<Delta> = Delta::ZERO..=Delta::secs(86_400);

/// Spans after which something happens again: never so short that virtual time stands still.
pub const PERIOD: RangeInclusive<Delta> = Delta::us(1)..=Delta::secs(86_400);

pub const RATE: RangeInclusive<Rate> = Rate::bps(1)..=FASTEST;

/// Rates of a direction that may stand still for a while.
pub const RATE_OR_NONE: RangeInclusive<Rate> = Rate::ZERO..=FASTEST;

/// A full packet takes 12 ns at this rate, which stands for no bottleneck at all.
pub const FASTEST: Rate = Rate::bps(1_000_000_000_000);

/// Buffers, files and windows.
pub const SIZE: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::new(1_000_000_000_000);

/// Bytes of a frame's or a packet's parts.
pub const FRAME_BYTES: RangeInclusive<u32> = 0..=65_535;

/// Things of which a million are plenty.
pub const COUNT: RangeInclusive<u32> = 1..=1_000_000;

/// Weights and factors.
pub const WEIGHT: RangeInclusive<u32> = 0..=1_000_000;
