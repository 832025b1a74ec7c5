//! Delays of a leg in windows, above its floor.

use unbloat_units::Delta;

/// Delays above the floor in a window, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    /// No queue was longer than this.
    pub(super) upper: i64,
    /// It was no shorter than this, zero where no sample says.
    pub(super) lower: i64,
    /// What it was in each half of the window, as far as the samples between these ends tell.
    pub(super) usual: [i64; 2],
    /// What the answering host may have held back of it: `usual` is right to within half of this.
    pub(super) held: i64,
    pub(super) samples: u16,
    pub(super) sharp: u16,
}

/// RFC 8289 §4.4 has 5 ms; HyStart++ (RFC 9406 §4.2) an eighth of the round trip, from 4 to 16 ms.
pub(super) fn target(rtt_floor: Option<Delta>) -> Delta {
    let eighth = rtt_floor.unwrap_or_default() / 8;
    eighth.max(Delta::ms(5)).min(Delta::ms(16))
}
