//! Parameters of an algorithm, read by name; each has a default and bounds.
//!
//! An algorithm implements [`Read`] beside its `Params`, so that a new parameter is one line there. Whoever holds named values (a scenario) implements
//! [`Settings`], and answers with its own errors, which say where a value stands.

#![warn(clippy::disallowed_methods)]

mod limit;
pub mod range;

pub use limit::Limit;

use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::RangeInclusive;
use unbloat_units::Rate;

/// Named values, taken one by one.
pub trait Settings {
    type Error;

    /// Takes a value, if it is given.
    fn maybe<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, Self::Error>;

    /// Takes a value within bounds, if it is given.
    fn maybe_within<T>(
        &mut self,
        name: &'static str,
        allowed: &RangeInclusive<T>,
    ) -> Result<Option<T>, Self::Error>
    where
        T: DeserializeOwned + PartialOrd + fmt::Display;

    /// Takes a number from 0 to 1, if it is given.
    fn maybe_fraction(&mut self, name: &'static str) -> Result<Option<f64>, Self::Error>;

    /// An error about several of the values together.
    fn fault(&self, message: String) -> Self::Error;

    fn or<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
        default: T,
    ) -> Result<T, Self::Error> {
        Ok(self.maybe(name)?.unwrap_or(default))
    }

    fn within<T>(
        &mut self,
        name: &'static str,
        default: T,
        allowed: &RangeInclusive<T>,
    ) -> Result<T, Self::Error>
    where
        T: DeserializeOwned + PartialOrd + fmt::Display,
    {
        Ok(self.maybe_within(name, allowed)?.unwrap_or(default))
    }

    fn fraction(&mut self, name: &'static str, default: f64) -> Result<f64, Self::Error> {
        Ok(self.maybe_fraction(name)?.unwrap_or(default))
    }
}

/// Named values of a queue, which knows its link.
pub trait LinkSettings: Settings {
    /// Takes the size of a buffer, if it is given: bytes, packets, time at the rate of the link, or multiples of the BDP.
    fn maybe_limit(&mut self, name: &'static str) -> Result<Option<Limit>, Self::Error>;

    /// The rate of the link.
    fn rate(&self) -> Rate;

    /// The size of a buffer in packets.
    fn limit_packets(&mut self, name: &'static str, default: u32) -> Result<u32, Self::Error> {
        Ok(self.maybe_limit(name)?.map_or(default, Limit::packets))
    }
}

/// Parameters that can be read from settings.
pub trait Read<S: Settings>: Sized {
    fn read(settings: &mut S) -> Result<Self, S::Error>;
}

/// A struct whose default stands beside each field.
#[macro_export]
macro_rules! defaults {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$doc:meta])* $seen:vis $field:ident: $type:ty = $default:expr;)*
    }) => {
        $(#[$meta])*
        $vis struct $name { $($(#[$doc])* $seen $field: $type,)* }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)* }
            }
        }
    };
}

/// Parameters that settings give by name: each field with its default, and what it may be.
///
/// | after `=>` | how it is read |
/// |---|---|
/// | nothing | a value of its type, by the name of the field |
/// | `within(RANGE)`, `within("name", RANGE)` | a value within bounds, by that name |
/// | `fraction` | a number from 0 to 1 |
/// | `limit` | `limit`, the size of a buffer in packets |
/// | `part` | parameters of its own, by their names |
/// | `from(FUNCTION)` | what that makes of the default and the settings |
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* pub struct $name:ident: $settings:ident {
        $($(#[$doc:meta])* pub $field:ident: $type:ty = $default:expr
            $(=> $how:ident $(($($with:tt)*))?)?;)*
    }) => {
        $crate::defaults! {
            $(#[$meta])*
            pub struct $name { $($(#[$doc])* pub $field: $type = $default;)* }
        }

        impl<S: $crate::$settings> $crate::Read<S> for $name {
            fn read(settings: &mut S) -> Result<$name, S::Error> {
                let _default = $name::default();
                let _settings = settings;
                Ok($name {
                    $($field: $crate::params!(
                        @read _settings, _default.$field, $field $(, $how $(($($with)*))?)?
                    ),)*
                })
            }
        }
    };
    (@read $from:ident, $default:expr, $field:ident) => {
        $from.or(stringify!($field), $default)?
    };
    (@read $from:ident, $default:expr, $field:ident, within($key:literal, $range:expr)) => {
        $from.within($key, $default, &($range))?
    };
    (@read $from:ident, $default:expr, $field:ident, within($range:expr)) => {
        $from.within(stringify!($field), $default, &($range))?
    };
    (@read $from:ident, $default:expr, $field:ident, fraction) => {
        $from.fraction(stringify!($field), $default)?
    };
    (@read $from:ident, $default:expr, $field:ident, limit) => {
        $from.limit_packets("limit", $default)?
    };
    (@read $from:ident, $default:expr, $field:ident, part) => {
        $crate::Read::read($from)?
    };
    (@read $from:ident, $default:expr, $field:ident, from($read:path)) => {
        $read($default, $from)?
    };
}
