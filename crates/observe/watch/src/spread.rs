//! How long packets waited.

use unbloat_units::Delta;

/// Of some packets' times. The mean is exact; quantiles come out of bins a quarter of an octave wide, so that they are right
/// within 12 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// How many packets, or segments of a TCP connection, were timed.
    pub count: u64,
    pub mean: Delta,
    pub p50: Delta,
    pub p95: Delta,
    pub p99: Delta,
}
