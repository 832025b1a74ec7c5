//! The list of workloads: one line each.

use crate::kind;
use crate::metrics::Metric;
use crate::workload::{Happening, Network, Workload};
use serde::{Deserialize, Deserializer};
use unbloat_units::{Delta, Time};

macro_rules! workloads {
    ($($name:literal => $variant:ident($module:ident),)*) => {
        /// Names as in scenarios and on the command line.
        pub const NAMES: &[&str] = &[$($name,)*];

        /// Which workload, with what parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config { $($variant(kind::$module::Params),)* }

        impl Config {
            /// Reads the parameters of the workload of that name; none if there is no such workload.
            pub fn read<'de, D: Deserializer<'de>>(name: &str, params: D) -> Option<Result<Config, D::Error>> {
                match name {
                    $($name => Some(kind::$module::Params::deserialize(params).map(Config::$variant)),)*
                    _ => None,
                }
            }

            pub fn name(&self) -> &'static str {
                match self { $(Config::$variant(_) => $name,)* }
            }

            pub fn build(&self) -> AnyWorkload {
                match self {
                    $(Config::$variant(params) => AnyWorkload::$variant(kind::$module::State::new(params.clone())),)*
                }
            }
        }

        /// Any workload.
        pub enum AnyWorkload { $($variant(kind::$module::State),)* }

        impl Workload for AnyWorkload {
            fn count_from(&mut self, from: Time) {
                match self { $(AnyWorkload::$variant(state) => state.count_from(from),)* }
            }

            fn start(&mut self, now: Time, network: &mut dyn Network) {
                match self { $(AnyWorkload::$variant(state) => state.start(now, network),)* }
            }

            fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
                match self { $(AnyWorkload::$variant(state) => state.on_happening(now, happening, network),)* }
            }

            fn metrics(&self, from: Time, now: Time) -> Vec<Metric> {
                match self { $(AnyWorkload::$variant(state) => state.metrics(from, now),)* }
            }

            fn each_time(&self, tell: &mut dyn FnMut(&'static str, Time, Delta)) {
                match self { $(AnyWorkload::$variant(state) => state.each_time(tell),)* }
            }
        }
    };
}

workloads! {
    "bulk" => Bulk(bulk),
    "finite" => Finite(finite),
    "web" => Web(web),
    "page" => Page(page),
    "transfers" => Transfers(transfers),
    "browse" => Browse(browse),
    "onoff" => OnOff(onoff),
    "ranges" => Ranges(ranges),
    "video" => Video(video),
    "voice" => Voice(voice),
    "game" => Game(game),
    "ping" => Ping(ping),
    "traceroute" => Traceroute(traceroute),
}
