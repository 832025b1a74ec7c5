//! The list of rules: one line each.

use super::{Rule, View};

macro_rules! rules {
    ($($name:literal => $variant:ident($module:ident::$type:ident),)*) => {
        /// Names as in scenarios and on the command line.
        pub const NAMES: &[&str] = &[$($name,)*];

        /// Which rule, with what parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config { $($variant(super::$module::Params),)* }

        impl Config {
            /// The rule of that name with the defaults of its reference.
            pub fn named(name: &str) -> Option<Config> {
                match name {
                    $($name => Some(Config::$variant(Default::default())),)*
                    _ => None,
                }
            }

            pub fn name(&self) -> &'static str {
                match self { $(Config::$variant(_) => $name,)* }
            }

            pub fn build(&self) -> AnyRule {
                match self {
                    $(Config::$variant(params) => {
                        AnyRule::$variant(super::$module::$type::new(params.clone()))
                    })*
                }
            }
        }

        /// Any rule, without a table of functions.
        #[derive(Clone, Debug)]
        pub enum AnyRule { $($variant(super::$module::$type),)* }

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
