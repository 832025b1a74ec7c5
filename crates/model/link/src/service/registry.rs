//! The list of servers: one line each.

use super::{Service, bucket, chances, constant, markov, steps};
use fastrand::Rng;
use unbloat_units::Time;

macro_rules! services {
    ($($name:literal => $variant:ident($module:ident::$type:ident),)*) => {
        /// Names as in scenarios and on the command line.
        pub const NAMES: &[&str] = &[$($name,)*];

        /// Which server, with what parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config { $($variant($module::Params),)* }

        impl Config {
            pub fn name(&self) -> &'static str {
                match self { $(Config::$variant(_) => $name,)* }
            }

            /// The server as of `start`; what is random in it forks its generator from `rng`.
            pub fn build(&self, start: Time, rng: &mut Rng) -> AnyService {
                match self {
                    $(Config::$variant(params) => {
                        AnyService::$variant($module::$type::build(params, start, rng))
                    })*
                }
            }
        }

        /// Any server, without a table of functions.
        #[derive(Clone, Debug)]
        pub enum AnyService { $($variant($module::$type),)* }

        impl Service for AnyService {
            #[inline]
            fn ready(&mut self, now: Time, busy: bool) -> Time {
                match self { $(AnyService::$variant(one) => one.ready(now, busy),)* }
            }

            #[inline]
            fn finish(&mut self, begin: Time, wire_bytes: u64) -> Time {
                match self { $(AnyService::$variant(one) => one.finish(begin, wire_bytes),)* }
            }

            #[inline]
            fn longest(&self) -> Option<u64> {
                match self { $(AnyService::$variant(one) => one.longest(),)* }
            }
        }
    };
}

services! {
    "constant" => Constant(constant::Constant),
    "steps" => Steps(steps::Steps),
    "chances" => Chances(chances::Chances),
    "bucket" => Bucket(bucket::Bucket),
    "markov" => Markov(markov::Markov),
}
