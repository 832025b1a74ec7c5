//! What one flow's packets meet at the layers of the device that sends them, its acknowledgements of a download among them: where a
//! phone's own queues delay it (Guo et al., IMC 2016, sections 4 and 5).

use crate::outcome::goodput::Goodput;
use crate::outcome::record::Waits;
use crate::scenario::Experiment;
use unbloat_link::Place;
use unbloat_units::{Bytes, Delta, Time, named};

named! {
    /// Where bytes are counted on their way out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Layer with ALL {
        /// The application writes into the socket.
        Socket = "socket",
        /// TCP, or an application that sends datagrams, hands a packet to the queue discipline.
        Tcp = "tcp",
        /// The queue discipline hands it to the driver.
        Qdisc = "qdisc",
        /// The driver hands it to the firmware.
        Driver = "driver",
        /// Its last byte is on the air.
        Firmware = "firmware",
    }
}

impl Layer {
    /// The layer that a packet leaves with this place.
    const fn left_with(place: Place) -> Option<Layer> {
        match place {
            Place::Qdisc => Some(Layer::Qdisc),
            Place::Driver => Some(Layer::Driver),
            Place::Firmware => Some(Layer::Firmware),
            Place::Socket | Place::Queue | Place::Radio | Place::Sleep => None,
        }
    }
}

/// One flow and direction.
#[derive(Clone, Debug)]
pub struct FlowLayers {
    warm_at: Time,
    /// By [`Place`].
    waits: [Waits; Place::ALL.len()],
    /// By [`Layer`].
    bytes: [Goodput; Layer::ALL.len()],
}

impl FlowLayers {
    pub fn new(experiment: &Experiment) -> FlowLayers {
        let warm_at = Time::from_ns(0) + experiment.warmup;
        let bytes = |_| Goodput::new(experiment.interval, warm_at, experiment.keeps_series);
        FlowLayers {
            warm_at,
            waits: Default::default(),
            bytes: Layer::ALL.map(bytes),
        }
    }

    /// Bytes pass a layer: payload at the socket, IP bytes below.
    pub fn passed(&mut self, at: Time, layer: Layer, bytes: Bytes) {
        self.bytes[layer as usize].read(at, bytes);
    }

    /// A packet, or the payload of a segment, leaves a place after having waited there.
    pub fn waited(&mut self, at: Time, place: Place, bytes: Bytes, wait: Delta) {
        if let Some(layer) = Layer::left_with(place) {
            self.passed(at, layer, bytes);
        }
        if at >= self.warm_at {
            self.waits[place as usize].record(wait);
        }
    }

    /// Waits at a place, if any packet ever waited there.
    pub fn waits(&self, place: Place) -> Option<&Waits> {
        let waits = &self.waits[place as usize];
        (!waits.ms.is_empty()).then_some(waits)
    }

    pub fn bytes(&self, layer: Layer) -> &Goodput {
        &self.bytes[layer as usize]
    }
}
