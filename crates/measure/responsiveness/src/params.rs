//! Parameters of the method.

use unbloat_params::defaults;
use unbloat_units::Delta;

defaults! {
    /// Parameters of draft-ietf-ippm-responsiveness-09, section 4.1, with its names.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// MAD, moving average distance: intervals that an average is over, and averages that must agree.
        pub average_over: usize = 4;
        /// ID, interval duration. 5 s since -09; 1 s before, and in all clients so far.
        pub interval: Delta = Delta::secs(5);
        /// TMP, trimmed mean percentage, as a share: so many of the best probes are kept.
        pub trim: f64 = 0.95;
        /// SDT, standard deviation tolerance, as a share: averages agree if they deviate by less of the latest.
        pub tolerance: f64 = 0.05;
        /// INP: load connections at the start.
        pub initial_connections: usize = 1;
        /// INC: load connections added after an interval.
        pub added_connections: usize = 1;
        /// MNP: load connections at most.
        pub max_connections: usize = 16;
    }
}
