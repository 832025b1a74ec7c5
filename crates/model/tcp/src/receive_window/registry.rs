//! The list of rules: one line each.

use super::{Rule, View};
use crate::choices::choices;

macro_rules! rules {
    ($($name:literal => $variant:ident($module:ident::$type:ident),)*) => {
        choices! { AnyRule: $($name => $variant($module::$type),)* }

        impl Rule for AnyRule {
            #[inline]
            fn on_segment(&mut self, view: &View, bytes: u32) {
                match self { $(AnyRule::$variant(rule) => rule.on_segment(view, bytes),)* }
            }

            #[inline]
            fn on_read(&mut self, view: &View) {
                match self { $(AnyRule::$variant(rule) => rule.on_read(view),)* }
            }

            #[inline]
            fn counts_memory(&self) -> bool {
                match self { $(AnyRule::$variant(rule) => rule.counts_memory(),)* }
            }

            #[inline]
            fn window(&self) -> u32 {
                match self { $(AnyRule::$variant(rule) => rule.window(),)* }
            }
        }
    };
}

rules! {
    "static" => Static(fixed::Static),
    "drs" => Drs(drs::Drs),
    "drs2012" => Drs2012(drs2012::Drs2012),
    "drwa" => Drwa(drwa::Drwa),
    "rledbat" => RLedbat(rledbat::RLedbat),
}
