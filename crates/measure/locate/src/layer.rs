//! Where within this host packets wait, once it is known that they wait before the first hop.

use crate::statistic::{from_ms, median};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unbloat_units::{Delta, named};

named! {
    /// A layer of the sending host, from the application down.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Layer {
        /// Bytes that a socket has not handed on.
        Socket = "socket",
        /// The queue discipline in front of the device.
        Qdisc = "qdisc",
        /// The driver's ring.
        Driver = "driver",
        /// What the driver has handed over: the device's firmware, its radio, the link.
        #[serde(rename = "below driver")]
        Below = "below driver",
        /// Behind the queue discipline; nobody has measured the driver.
        #[serde(rename = "driver or below")]
        DriverOrBelow = "driver or below",
    }
}

/// How long packets that were sent through a layer stayed in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerDelay {
    pub idle: Vec<Delta>,
    pub loaded: Vec<Delta>,
}

/// Delays of the layers of this host; None where nobody measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    pub socket: Option<LayerDelay>,
    pub qdisc: Option<LayerDelay>,
    pub driver: Option<LayerDelay>,
}

impl LayerDelay {
    /// Median under load less median when idle; None without samples of both.
    pub fn added(&self) -> Option<Delta> {
        let median_of = |all: &[Delta]| {
            let mut values: Vec<f64> = all.iter().map(|d| d.as_ms()).collect();
            median(&mut values)
        };
        Some(from_ms(median_of(&self.loaded)? - median_of(&self.idle)?))
    }
}

impl Layers {
    /// The layer in which most of a delay is spent that probes have before they reach the first hop. Probes
    /// do not wait in the sockets of others, so a socket is never meant here. Under load both ways a part of
    /// the delay may be the gateway's: a fifth in a layer is enough to name it, and what is in none may be
    /// anywhere.
    pub(crate) fn holding(&self, added: Delta, is_both_ways: bool) -> Option<Layer> {
        let of = |layer: &Option<LayerDelay>| layer.as_ref().and_then(LayerDelay::added);
        let parts = if is_both_ways { 5 } else { 2 };
        let is_most = |part: Delta| part * parts > added;
        let qdisc = of(&self.qdisc)?;
        if is_most(qdisc) {
            return Some(Layer::Qdisc);
        }
        match of(&self.driver) {
            Some(driver) if is_most(driver) => Some(Layer::Driver),
            _ if is_both_ways => None,
            Some(_) => Some(Layer::Below),
            None => Some(Layer::DriverOrBelow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(loaded_ms: i64) -> Option<LayerDelay> {
        Some(LayerDelay {
            idle: vec![Delta::us(20); 9],
            loaded: vec![Delta::ms(loaded_ms); 9],
        })
    }

    #[test]
    fn the_layer_that_holds_most_of_the_delay_is_named() {
        let layers = |qdisc, driver| Layers {
            qdisc,
            driver,
            socket: delay(500),
        };
        let holding = |all: Layers| all.holding(Delta::ms(80), false);
        assert_eq!(holding(layers(delay(75), None)), Some(Layer::Qdisc));
        assert_eq!(holding(layers(delay(3), delay(70))), Some(Layer::Driver));
        assert_eq!(holding(layers(delay(3), delay(2))), Some(Layer::Below));
        assert_eq!(holding(layers(delay(3), None)), Some(Layer::DriverOrBelow));
        assert_eq!(holding(layers(None, delay(70))), None);
        let both_ways = |all: Layers| all.holding(Delta::ms(80), true);
        assert_eq!(both_ways(layers(delay(30), None)), Some(Layer::Qdisc));
        assert_eq!(both_ways(layers(delay(3), delay(2))), None);
    }
}
