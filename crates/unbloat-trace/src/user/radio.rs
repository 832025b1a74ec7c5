//! What the radio costs.

use unbloat_units::Delta;

/// Power drawn by a radio, in watts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerModel {
    pub promotion_w: f64,
    pub promotion: Delta,
    pub tail_w: f64,
}

impl PowerModel {
    /// LTE as measured by Huang et al., MobiSys 2012, Table 3: 1,210.7 mW for 260.1 ms of
    /// promotion, 1,060.0 mW in the tail.
    pub const LTE: PowerModel = PowerModel {
        promotion_w: 1.2107,
        promotion: Delta::us(260_100),
        tail_w: 1.0600,
    };

    /// Joules that closing `delay` after the last payload costs over closing at once: the rest of
    /// the first tail is paid in any case (Fig. 4).
    pub fn late_close(&self, delay: Delta, tail: Delta) -> f64 {
        if delay <= tail {
            return self.tail_w * delay.as_secs();
        }
        self.promotion_w * self.promotion.as_secs() + self.tail_w * tail.as_secs()
    }
}
