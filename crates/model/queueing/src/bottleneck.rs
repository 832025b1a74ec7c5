//! From the models' units to those of the user.

use crate::ModelError;
use unbloat_units::{Bytes, Delta, Rate};

/// The slowest link of the path, and the size of the packets that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    rate: Rate,
    packet: Bytes,
}

impl Bottleneck {
    pub fn new(rate: Rate, packet: Bytes) -> Result<Bottleneck, ModelError> {
        if rate > Rate::ZERO && packet > Bytes::ZERO {
            Ok(Bottleneck { rate, packet })
        } else {
            Err(ModelError::Bottleneck)
        }
    }

    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Mean size, as transmitted.
    pub const fn packet(&self) -> Bytes {
        self.packet
    }

    /// Seconds that a packet takes to be sent: 1/mu.
    pub fn transmission_secs(&self) -> f64 {
        self.packet.as_u64() as f64 * 8.0 / self.rate.as_bps_f64()
    }

    /// So many transmission times.
    pub fn span(&self, transmissions: f64) -> Delta {
        Delta::from_secs_f64(transmissions * self.transmission_secs())
    }

    /// A span in transmission times.
    pub fn transmissions(&self, span: Delta) -> f64 {
        span.as_secs() / self.transmission_secs()
    }

    /// The rate carried when the link sends for this share of time (Eq. 5 in bit/s).
    pub fn carried(&self, utilisation: f64) -> Rate {
        Rate::from_bps_f64(self.rate.as_bps_f64() * utilisation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_times_are_spans_and_back() {
        let link = Bottleneck::new(Rate::mbps(4), Bytes::new(1500)).expect("a link");
        assert_eq!(link.span(1.0), Delta::ms(3));
        assert!((link.transmissions(Delta::ms(30)) - 10.0).abs() < 1e-12);
        assert_eq!(link.carried(0.95), Rate::kbps(3800));
        assert!(Bottleneck::new(Rate::ZERO, Bytes::new(1)).is_err());
    }
}
