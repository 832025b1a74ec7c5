//! Parameters of the method.

use unbloat_units::{Bytes, Delta, Rate};

/// Both ways together, of a probe on a connection of its own (draft-09, section 4.3: about 5000).
const FOREIGN_BYTES: Bytes = Bytes::new(5000);
/// And of one on a load connection (at most 1000).
const OWN_BYTES: Bytes = Bytes::new(1000);

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
    /// MPS: probes a second at most.
    pub max_probes: f64,
    /// PTC: share of the capacity that probes may take.
    pub probe_share: f64,
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
            max_probes: 100.0,
            probe_share: 0.05,
        }
    }
}

impl Params {
    /// With the interval of draft-08 and of all clients so far: four seconds may do where draft-09 wants twenty.
    pub fn of_one_second() -> Params {
        Params {
            interval: Delta::secs(1),
            ..Params::default()
        }
    }

    /// What a stage must last for more than low confidence. The draft's own example of 10 s for each stage is shorter.
    pub fn least_stage(&self) -> Delta {
        self.interval * self.average_over as i64
    }

    /// From one pair of probes, a foreign and an own one, to the next: within MPS, and within PTC of what the path
    /// carries.
    pub fn pair_interval(&self, goodput: Rate) -> Delta {
        let by_rate = 2.0 / self.max_probes;
        let bits = 8.0 * (FOREIGN_BYTES.as_u64() + OWN_BYTES.as_u64()) as f64;
        let by_share = bits / (self.probe_share * goodput.as_bps_f64());
        Delta::from_secs_f64(by_rate.max(by_share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_of_the_draft_lasts_twenty_seconds_at_least() {
        assert_eq!(Params::default().least_stage(), Delta::secs(20));
        assert_eq!(Params::of_one_second().least_stage(), Delta::secs(4));
    }

    #[test]
    fn probes_take_a_twentieth_of_the_path_and_are_no_more_than_a_hundred_a_second() {
        let params = Params::default();
        assert_eq!(params.pair_interval(Rate::mbps(1000)), Delta::ms(20));
        // 6000 bytes in 5 % of 1 Mbit/s.
        assert_eq!(params.pair_interval(Rate::mbps(1)), Delta::ms(960));
    }

    #[test]
    fn nothing_is_probed_where_nothing_moves() {
        assert_eq!(Params::default().pair_interval(Rate::ZERO), Delta::MAX);
    }
}
