//! The data of the paper's Figure 4: delay and throughput against the size of the buffer.
//!
//! # What the figure shows, and what can be had of it
//! The paper draws loads 0.95 and 0.99, and reads: delay grows with the buffer up to 6 s, throughput
//! reaches its 4 Mbit/s with a buffer of 10 to 20. It prints neither packet size nor rate. The
//! throughput curve comes out (at K = 20, 97 % of the limit at load 0.95, 96 % at 0.99). Its 6 s do not: Eq. 4
//! is below 1/(1 - load) transmission times for every buffer, 20 at load 0.95 and 100 at 0.99, so 6 s
//! need transmissions of more than 60 ms: at 4 Mbit/s, packets of over 30 kB. With 1500 B the curves
//! end at 60 and 300 ms. Delays of seconds come with loads of 1 and more, as a loss-based sender makes
//! them, or with bursts: [`crate::Kind::IppM1k`].
//!
//! Nor does delay grow "faster than K": at load 1 Eq. 4 is K/2, and below it grows ever slower.

use crate::{Capacity, Kind, Load, ModelError, published};

/// The paper's loads.
pub const LOADS: [f64; 2] = [0.95, 0.99];

/// One place of the curves. Delays in transmission times, throughputs in parts of the link's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub capacity: Capacity,
    pub mean_delay: f64,
    pub utilisation: f64,
    /// Eq. 4.
    pub published_delay: f64,
    /// Eq. 5.
    pub published_utilisation: f64,
}

/// The curves of a model at one load.
pub fn series(kind: Kind, load: Load, capacities: &[Capacity]) -> Result<Vec<Point>, ModelError> {
    let point = |&capacity: &Capacity| {
        let model = kind.solve(load, capacity)?;
        Ok(Point {
            capacity,
            mean_delay: model.mean_delay(),
            utilisation: model.utilisation(),
            published_delay: published::mean_delay(load, capacity),
            published_utilisation: published::utilisation(load, capacity),
        })
    };
    capacities.iter().map(point).collect()
}

/// The smallest buffer that carries `share` of what the load offers or, above load 1, of the
/// link's rate; none if no buffer in reach does. Where throughput stops growing: the paper's 10 to 20.
pub fn knee(kind: Kind, load: Load, share: f64) -> Result<Option<Capacity>, ModelError> {
    let wanted = share * load.get().min(1.0);
    let carries = |packets: u32| {
        let model = kind.solve(load, Capacity::new(packets.into())?)?;
        Ok::<bool, ModelError>(model.utilisation() >= wanted)
    };
    let mut enough = 1;
    while !carries(enough)? {
        if enough == Capacity::MOST {
            return Ok(None);
        }
        enough = (2 * enough).min(Capacity::MOST);
    }
    let mut short = enough / 2;
    while enough - short > 1 {
        let middle = short + (enough - short) / 2;
        if carries(middle)? {
            enough = middle;
        } else {
            short = middle;
        }
    }
    Capacity::new(enough.into()).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{capacity, load};

    #[test]
    fn throughput_ends_its_growth_early_and_delay_does_not() {
        for (rho, of_limit, half_of_k) in [(0.95, 0.972, 0.85), (0.99, 0.957, 0.97)] {
            let ks = [20, 200, 2_000].map(capacity);
            let curve = series(Kind::Mm1k, load(rho), &ks).expect("models");
            assert!(
                (curve[0].utilisation / rho - of_limit).abs() < 1e-3,
                "{curve:?}"
            );
            assert!(curve[0].published_delay > half_of_k * 20.0 / 2.0);
            assert!(curve[2].published_delay <= (1.0 + 1e-12) / (1.0 - rho));
            assert!(curve.iter().all(|p| p.published_delay <= p.mean_delay));
            assert!(
                curve
                    .iter()
                    .all(|p| (p.utilisation - p.published_utilisation).abs() < 1e-15)
            );
        }
    }

    #[test]
    fn the_knee_carries_its_share_and_one_packet_less_does_not() {
        for kind in [Kind::Mm1k, Kind::Md1k, Kind::IppM1k { on: 5.0, off: 5.0 }] {
            let found = knee(kind, load(0.95), 0.99)
                .expect("models")
                .expect("in reach");
            let [at, less] = [found.get(), found.get() - 1].map(|k| {
                let model = kind.solve(load(0.95), capacity(k.into())).expect("a model");
                model.utilisation() / 0.95
            });
            assert!(at >= 0.99 && less < 0.99, "{kind:?} {found:?}");
        }
    }
}
