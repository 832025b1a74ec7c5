//! Several hops, the last one the bottleneck (Eq. 1).

use crate::{Bottleneck, Capacity, Load, Mm1, Mm1k, Model, ModelError, published};
use unbloat_units::{Delta, Rate};

/// A path of N hops: N - 1 faster ones without limit on their buffers, then the bottleneck.
///
/// # What is exact
/// Poisson arrivals leave an M/M/1 hop as Poisson arrivals, and what a packet meets at one hop is
/// independent of what it meets at the next (Burke 1956, Reich 1957), if its transmission times are:
/// the hops' mean delays `1/(mu_i - lambda)` add up. (A packet keeps its size in truth, which makes
/// hops after the first a little worse: Kleinrock's assumption.) It holds for Poisson arrivals only.
///
/// # Where the paper simplifies
/// Eq. 1 takes the round trip for twice the way there, queue and all, and knows no propagation. A
/// reply on its own way meets no queue of the data: [`Route::mean_rtt`] has the queues once and
/// propagation twice. Sending the reply itself, some tens of bytes, is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    bottleneck: Bottleneck,
    load: Load,
    /// Load and transmission time in seconds of each hop before the bottleneck.
    hops: Vec<(Mm1, f64)>,
    propagation: Delta,
}

impl Route {
    /// `hops` are the rates of the links before the bottleneck, `propagation` is one way.
    pub fn new(
        bottleneck: Bottleneck,
        load: Load,
        hops: &[Rate],
        propagation: Delta,
    ) -> Result<Route, ModelError> {
        let hop = |(index, &rate): (usize, &Rate)| {
            let link = Bottleneck::new(rate, bottleneck.packet())?;
            let share = load.get() * bottleneck.rate().as_bps_f64() / rate.as_bps_f64();
            let queue = Load::new(share).and_then(Mm1::new);
            let refused = |_| ModelError::Hop {
                hop: index + 1,
                load: share,
            };
            Ok((queue.map_err(refused)?, link.transmission_secs()))
        };
        Ok(Route {
            bottleneck,
            load,
            hops: hops.iter().enumerate().map(hop).collect::<Result<_, _>>()?,
            propagation,
        })
    }

    /// Mean delay of all hops before the bottleneck.
    pub fn mean_before(&self) -> Delta {
        let secs = self
            .hops
            .iter()
            .map(|(queue, secs)| queue.mean_delay() * secs);
        Delta::from_secs_f64(secs.sum())
    }

    /// Queues once, propagation twice.
    pub fn mean_rtt(&self, capacity: Capacity) -> Delta {
        let last = Mm1k::new(self.load, capacity).mean_delay();
        self.mean_before() + self.bottleneck.span(last) + self.propagation * 2
    }

    /// Eq. 1 as printed, with Eq. 4 for the bottleneck.
    pub fn published_rtt(&self, capacity: Capacity) -> Delta {
        let last = published::mean_delay(self.load, capacity);
        (self.mean_before() + self.bottleneck.span(last)) * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{capacity, load};
    use unbloat_units::Bytes;

    fn link() -> Bottleneck {
        Bottleneck::new(Rate::mbps(4), Bytes::new(1500)).expect("a link")
    }

    #[test]
    fn hops_add_up_once_and_in_the_paper_twice() {
        // 4 Mbit/s at load 0.5 is 1/6 of 12 Mbit/s: 1 ms each, 1.2 ms with the wait; twice.
        let hops = [Rate::mbps(12), Rate::mbps(12)];
        let route = Route::new(link(), load(0.5), &hops, Delta::ms(20)).expect("a route");
        assert_eq!(route.mean_before(), Delta::us(2400));
        // K = 1: a packet that gets in is sent at once, 3 ms; Eq. 4 says 2/3 of it.
        assert_eq!(route.mean_rtt(capacity(1)), Delta::us(45_400));
        assert_eq!(route.published_rtt(capacity(1)), Delta::us(8_800));
    }

    #[test]
    fn a_hop_slower_than_the_load_is_named() {
        let hops = [Rate::mbps(100), Rate::mbps(3)];
        let error = Route::new(link(), load(0.9), &hops, Delta::ZERO).expect_err("too slow");
        assert!(matches!(error, ModelError::Hop { hop: 2, .. }), "{error}");
    }
}
