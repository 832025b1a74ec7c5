//! Parameters of the method.

use unbloat_units::Delta;

/// Parameters of draft-ietf-ippm-responsiveness-09, section 4.1, with its names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// MAD, moving average distance: intervals that an average is over, and averages that must agree.
    pub average_over: usize,
    /// ID, interval duration. 5 s since -09; 1 s before, and in all clients so far.
    pub interval: Delta,
    /// TMP, trimmed mean percentage, as a share: so many of the best probes are kept.
    pub trim: f64,
    /// SDT, standard deviation tolerance, as a share: averages agree if they deviate by less of the latest.
    pub tolerance: f64,
    /// INP: load connections at the start.
    pub initial_connections: usize,
    /// INC: load connections added after an interval.
    pub added_connections: usize,
    /// MNP: load connections at most.
    pub max_connections: usize,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            average_over: 4,
            interval: Delta::secs(5),
            trim: 0.95,
            tolerance: 0.05,
            initial_connections: 1,
            added_connections: 1,
            max_connections: 16,
        }
    }
}
