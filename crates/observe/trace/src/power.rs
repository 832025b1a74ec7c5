//! What a radio costs.

use serde::{Deserialize, Serialize};
use unbloat_params::defaults;
use unbloat_units::Delta;

defaults! {
    /// Power drawn by a device's radio, over that of the device at rest.
    ///
    /// The default is LTE as measured by Huang et al., "A Close Examination of Performance and Power
    /// Characteristics of 4G LTE Networks", MobiSys 2012.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct PowerModel {
        /// Watts while the radio is being switched on (Table 3: 1,210.7 mW).
        pub promotion_w: f64 = 1.2107;
        /// How long that takes (Table 3: 260.1 ms).
        #[serde(with = "crate::plain")]
        pub promotion: Delta = Delta::us(260_100);
        /// Watts of a radio that is receiving or about to (Table 4, beta: 1,288.04 mW).
        pub active_w: f64 = 1.28804;
        /// Watts that a Mbit/s from the client adds (Table 4, alpha_u: 438.39 mW).
        pub uplink_w_per_mbps: f64 = 0.43839;
        /// Watts that a Mbit/s towards the client adds (Table 4, alpha_d: 51.97 mW).
        pub downlink_w_per_mbps: f64 = 0.05197;
        /// Watts of a radio that stays on after data (Table 3: 1,060.0 mW).
        pub tail_w: f64 = 1.0600;
    }
}

impl PowerModel {
    /// Joules of switching the radio on once.
    pub fn promotion_j(&self) -> f64 {
        self.promotion_w * self.promotion.as_secs()
    }

    /// Joules of a radio that is on for `tail` after data.
    pub fn tail_j(&self, tail: Delta) -> f64 {
        self.tail_w * tail.as_secs()
    }

    /// Joules that so many bytes add, at whatever rate they passed.
    pub fn transfer_j(&self, down_bytes: u64, up_bytes: u64) -> f64 {
        let mbit = |bytes: u64| bytes as f64 * 8.0 / 1e6;
        self.downlink_w_per_mbps * mbit(down_bytes) + self.uplink_w_per_mbps * mbit(up_bytes)
    }

    /// Joules that closing `delay` after the last payload costs over closing at once, if nothing
    /// else kept the radio on: the tail of the last payload is paid in any case (Fig. 4).
    pub fn late_close_j(&self, delay: Delta, tail: Delta) -> f64 {
        let promotion = if delay > tail {
            self.promotion_j()
        } else {
            0.0
        };
        promotion + self.tail_j(delay.min(tail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_close_of_fig_4_costs_a_promotion_and_a_tail() {
        let model = PowerModel::default();
        let joules = model.late_close_j(Delta::secs(12), Delta::secs(10));
        assert!((joules - (1.2107 * 0.2601 + 10.6)).abs() < 1e-9, "{joules}");
        let early = model.late_close_j(Delta::secs(4), Delta::secs(10));
        assert!((early - 4.24).abs() < 1e-9, "{early}");
    }

    #[test]
    fn a_megabyte_costs_what_its_mbits_do() {
        let joules = PowerModel::default().transfer_j(1_000_000, 500_000);
        assert!((joules - (8.0 * 0.05197 + 4.0 * 0.43839)).abs() < 1e-9);
    }
}
