//! The list of elements: one line each.

use crate::bottleneck::{self, Bottleneck};
use crate::device;
use crate::element;
use crate::radio;
use crate::seam::{Element, Output, Place};
use crate::service::AnyService;
use fastrand::Rng;
use unbloat_qdisc::{AnyQueue, Backlog, Packet};
use unbloat_units::{Delta, Time};

impl AnyElement {
    /// What each client has to itself.
    pub(crate) fn per_client(&mut self) -> Option<&mut element::per_client::PerClient> {
        match self {
            AnyElement::PerClient(one) => Some(one),
            _ => None,
        }
    }
}

macro_rules! any_element {
    ($($variant:ident($type:ty),)*) => {
        /// Any element, without a table of functions: hot loops stay monomorphic.
        pub enum AnyElement { $($variant(Box<$type>),)* }

        impl Element for AnyElement {
            #[inline]
            fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
                match self { $(AnyElement::$variant(one) => one.accept(now, packet, out),)* }
            }

            #[inline]
            fn next_at(&self) -> Option<Time> {
                match self { $(AnyElement::$variant(one) => one.next_at(),)* }
            }

            #[inline]
            fn advance(&mut self, now: Time, out: &mut impl Output) {
                match self { $(AnyElement::$variant(one) => one.advance(now, out),)* }
            }

            #[inline]
            fn coming(&self, after: usize) -> Option<&Packet> {
                match self { $(AnyElement::$variant(one) => one.coming(after),)* }
            }

            fn latency(&self) -> Delta {
                match self { $(AnyElement::$variant(one) => one.latency(),)* }
            }

            fn is_watched(&self) -> bool {
                match self { $(AnyElement::$variant(one) => one.is_watched(),)* }
            }

            fn backlog(&self) -> Backlog {
                match self { $(AnyElement::$variant(one) => one.backlog(),)* }
            }

            fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
                match self { $(AnyElement::$variant(one) => one.each_layer(tell),)* }
            }
        }
    };
}

macro_rules! elements {
    ($($name:literal => $variant:ident($params:ty, $type:ty),)*) => {
        /// Names as in scenarios and on the command line.
        pub const NAMES: &[&str] = &[$($name,)*];

        /// Which element, with what parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config { $($variant($params),)* }

        impl Config {
            pub fn name(&self) -> &'static str {
                match self { $(Config::$variant(_) => $name,)* }
            }

            /// The element as of `start`; what is random in it forks its generator from `rng`.
            pub fn build(&self, start: Time, rng: &mut Rng) -> AnyElement {
                match self {
                    $(Config::$variant(params) => {
                        AnyElement::$variant(Box::new(<$type>::build(params, start, rng)))
                    })*
                }
            }
        }

        any_element! {
            $($variant($type),)*
            // What a path makes of a bottleneck and a delay.
            Pipe(element::pipe::Pipe),
        }
    };
}

elements! {
    "bottleneck" => Bottleneck(bottleneck::Params, Bottleneck<AnyQueue, AnyService>),
    "delay" => Delay(element::delay::Params, element::delay::Delay),
    "jitter" => Jitter(element::jitter::Params, element::jitter::Jitter),
    "hold" => Hold(element::hold::Params, element::hold::Hold),
    "loss" => Loss(element::loss::Params, element::loss::Loss),
    "burst" => Burst(element::burst::Params, element::burst::Burst),
    "lte_downlink" => LteDownlink(radio::downlink::Params, radio::downlink::Downlink),
    "lte_uplink" => LteUplink(radio::uplink::Params, radio::uplink::Uplink),
    "device" => Device(device::Params, device::Device),
    "rrc" => Rrc(radio::sleep::Params, radio::sleep::Sleep),
    "detour" => Detour(element::detour::Params, element::detour::Detour),
    "outage" => Outage(element::outage::Params, element::outage::Outage),
    "per_client" => PerClient(element::per_client::Params, element::per_client::PerClient),
}
