//! The list of disciplines: one line each.

use crate::discipline;
use crate::packet::Packet;
use crate::queue::{Backlog, Context, Queue};
use unbloat_params::{LinkSettings, Read};
use unbloat_units::{Rate, Time};

macro_rules! disciplines {
    ($($name:literal => $variant:ident($module:ident::$type:ident),)*) => {
        /// Names as in scenarios and on the command line.
        pub const NAMES: &[&str] = &[$($name,)*];

        /// Which discipline, with what parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config { $($variant(discipline::$module::Params),)* }

        impl Config {
            /// The discipline of that name with the defaults of its reference.
            pub fn named(name: &str) -> Option<Config> {
                match name {
                    $($name => Some(Config::$variant(Default::default())),)*
                    _ => None,
                }
            }

            /// The discipline of that name with the parameters that the settings give; none if there is no such discipline.
            pub fn read<S: LinkSettings>(name: &str, settings: &mut S) -> Result<Option<Config>, S::Error> {
                Ok(match name {
                    $($name => Some(Config::$variant(Read::read(settings)?)),)*
                    _ => None,
                })
            }

            pub fn name(&self) -> &'static str {
                match self { $(Config::$variant(_) => $name,)* }
            }

            pub fn build(&self) -> AnyQueue {
                match self {
                    $(Config::$variant(params) => {
                        AnyQueue::$variant(Box::new(discipline::$module::$type::new(params.clone())))
                    })*
                }
            }
        }

        /// Any discipline, without a table of functions: hot loops stay monomorphic.
        pub enum AnyQueue { $($variant(Box<discipline::$module::$type>),)* }

        impl AnyQueue {
            /// Has a queue with a shaper of its own shape to another rate. Returns whether it is one.
            pub fn set_rate(&mut self, rate: Rate) -> bool {
                let AnyQueue::Cake(cake) = self else {
                    return false;
                };
                cake.set_rate(Some(rate));
                true
            }
        }

        impl Queue for AnyQueue {
            #[inline]
            fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Context<'_>) {
                match self { $(AnyQueue::$variant(queue) => queue.enqueue(now, packet, cx),)* }
            }

            #[inline]
            fn dequeue(&mut self, now: Time, cx: &mut Context<'_>) -> Option<Packet> {
                match self { $(AnyQueue::$variant(queue) => queue.dequeue(now, cx),)* }
            }

            fn backlog(&self) -> Backlog {
                match self { $(AnyQueue::$variant(queue) => queue.backlog(),)* }
            }

            #[inline]
            fn ready_at(&self, now: Time) -> Option<Time> {
                match self { $(AnyQueue::$variant(queue) => queue.ready_at(now),)* }
            }

            #[inline]
            fn is_roomless(&self) -> bool {
                match self { $(AnyQueue::$variant(queue) => queue.is_roomless(),)* }
            }
        }
    };
}

disciplines! {
    "droptail" => DropTail(droptail::DropTail),
    "codel" => Codel(codel::Codel),
    "fq_codel" => FqCodel(fq_codel::FqCodel),
    "pie" => Pie(pie::Pie),
    "red" => Red(red::Red),
    "rem" => Rem(rem::Rem),
    "cake" => Cake(cake::Cake),
    "dualpi2" => DualPi2(dualpi2::DualPi2),
}
