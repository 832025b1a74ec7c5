//! The vocabulary of unbloat.
//!
//! A number with a dimension crosses a public boundary only as one of these types. They are built
//! with their unit (`Rate::mbps(20)`, `Delta::ms(5)`), read with their unit (`as_bps()`,
//! `as_ms()`), parsed from text that carries a unit ("20 Mbit/s", "40 ms", "1.5 MB") and printed
//! with one.

#![warn(clippy::disallowed_methods)]

mod bytes;
mod deserialize;
mod direction;
mod framing;
mod parse;
mod rate;
mod seq;
mod time;

pub use bytes::Bytes;
pub use direction::{Both, Direction};
pub use framing::{Cells, Framing};
pub use parse::ParseUnitError;
pub use rate::Rate;
pub use seq::Seq;
pub use time::{Delta, Time};

/// An enum each of whose variants has a name, as tables, documents and options spell it; `with ALL` also a list of them, in their order.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $name:ident with ALL {
        $($(#[$doc:meta])* $variant:ident = $text:literal,)*
    }) => {
        $crate::named! {
            $(#[$meta])*
            $vis enum $name { $($(#[$doc])* $variant = $text,)* }
        }

        impl $name {
            $vis const ALL: [$name; [$($text),*].len()] = [$($name::$variant),*];
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $text:literal,)*
    }) => {
        $(#[$meta])*
        $vis enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            $vis const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}
